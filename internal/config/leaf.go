package config

import (
	"encoding/json"
	"reflect"
	"strings"
)

// A leaf is a key that one value can set: a scalar, or a list of strings written
// with commas.
type leaf struct {
	Key   string
	Value reflect.Value
}

// leaves returns the keys below a struct that do not pass through a name of the user's.
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
		if field.Kind() == reflect.Struct {
			out = append(out, leaves(key, field)...)
			continue
		}
		out = append(out, leaf{key, field})
	}
	return out
}

// Set reads text into the leaf.
func (l leaf) Set(text string) error {
	v := l.Value
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if v.Kind() != reflect.Slice {
		return setScalar(v, text)
	}
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	v.Set(reflect.ValueOf(items).Convert(v.Type()))
	return nil
}
