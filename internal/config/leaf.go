package config

import (
	"encoding/json"
	"reflect"
	"strings"
)

// A leaf is a key with a single value: a scalar, or a list of strings, which a variable or a flag
// separates by commas.
type leaf struct {
	Key   string
	Value reflect.Value
}

// leaves returns all leaves, with those of the endpoints in llm.providers.
func (cfg *Config) leaves() []leaf {
	all := leaves("", reflect.ValueOf(cfg).Elem())
	for i := range cfg.LLM.Providers {
		e := &cfg.LLM.Providers[i]
		all = append(all, leaves(join(keyProviders, e.Name), reflect.ValueOf(&e.Value).Elem())...)
	}
	return all
}

// leaves returns the leaves of a struct, except those below names that a person chooses, such as
// those of servers.
func leaves(parent string, v reflect.Value) []leaf {
	var out []leaf
	for _, name := range fieldsOf(v.Type()).Names {
		field, key := v.FieldByIndex(fieldsOf(v.Type()).Index[name]), join(parent, name)
		if _, named := reflect.TypeAssert[mapping](field.Addr()); named {
			continue
		}
		if field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct {
			continue
		}
		if field.Kind() == reflect.Map || field.Type() == reflect.TypeFor[json.RawMessage]() {
			continue
		}
		if _, text := readsText(field); field.Kind() == reflect.Struct && !text {
			out = append(out, leaves(key, field)...)
			continue
		}
		out = append(out, leaf{key, field})
	}
	return out
}

// Set parses text into the leaf.
func (l leaf) Set(text string) error {
	v := l.Value
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if v.Kind() != reflect.Slice {
		return setScalar(v, text)
	}
	items := reflect.Zero(v.Type())
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = reflect.Append(items, reflect.ValueOf(item).Convert(v.Type().Elem()))
		}
	}
	v.Set(items)
	return nil
}
