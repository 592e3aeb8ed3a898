package config

import (
	"reflect"
	"strings"
)

// A Leaf is a key that one value can set: a scalar, or a list of strings written
// with commas.
type Leaf struct {
	Key   string
	Value reflect.Value
}

// Leaves returns the keys below a struct that do not pass through a name of the user's.
func Leaves(parent string, v reflect.Value) []Leaf {
	var out []Leaf
	for _, name := range FieldsOf(v.Type()).Names {
		field, key := v.FieldByIndex(FieldsOf(v.Type()).Index[name]), Join(parent, name)
		if _, named := reflect.TypeAssert[Mapping](field.Addr()); named {
			continue
		}
		if field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct {
			continue
		}
		if field.Kind() == reflect.Map {
			continue
		}
		if field.Kind() == reflect.Struct {
			out = append(out, Leaves(key, field)...)
			continue
		}
		out = append(out, Leaf{key, field})
	}
	return out
}

// Set reads text into the leaf.
func (l Leaf) Set(text string) error {
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
