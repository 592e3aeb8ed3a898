package config

import (
	"encoding"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"molar/schemas"
)

// fields holds the keys of a struct type, which are the yaml tags of its fields, including those of
// embedded structs. Index holds the index of each field, for [reflect.Value.FieldByIndex].
type fields struct {
	Names []string
	Index map[string][]int
}

// fieldsOf returns the keys of a struct type.
func fieldsOf(t reflect.Type) fields {
	f := fields{Index: map[string][]int{}}
	for i := range t.NumField() {
		field := t.Field(i)
		name := field.Tag.Get("yaml")
		if field.Anonymous {
			inner := fieldsOf(field.Type)
			f.Names = append(f.Names, inner.Names...)
			for name, at := range inner.Index {
				f.Index[name] = append([]int{i}, at...)
			}
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		f.Names = append(f.Names, name)
		f.Index[name] = []int{i}
	}
	return f
}

// readsText returns what reads v from a text, and false for values that are not of such a type. v is addressable.
func readsText(v reflect.Value) (encoding.TextUnmarshaler, bool) {
	return reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr())
}

// setScalar parses text into v, whose type is one of those of expectation.
func setScalar(v reflect.Value, text string) error {
	if read, ok := readsText(v); ok {
		return read.UnmarshalText([]byte(text))
	}
	switch v.Type() {
	case reflect.TypeFor[time.Duration]():
		d, err := ParseDuration(text)
		if err != nil {
			return errors.New(expectation(v.Type()))
		}
		v.SetInt(int64(d))
		return nil
	case reflect.TypeFor[Size]():
		size, err := parseSize(text)
		if err != nil {
			return err
		}
		v.SetInt(int64(size))
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New(expectation(v.Type()))
		}
		v.SetInt(int64(n))
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return errors.New(expectation(v.Type()))
		}
		v.SetFloat(f)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return errors.New(expectation(v.Type()))
		}
		v.SetBool(text == "true")
	}
	return nil
}

// ParseDuration parses a duration like [time.ParseDuration], or a number of days such as "90d".
func ParseDuration(text string) (time.Duration, error) {
	days, ok := strings.CutSuffix(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	const day, most = 24 * time.Hour, 36500 // a hundred years
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil || n > most {
		return 0, errors.New("want a whole number of days")
	}
	return time.Duration(n) * day, nil
}

// expectation returns the part of a fault that describes the values of a type.
func expectation(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return `want a duration such as "60s" or "5m"`
	case reflect.TypeFor[Size]():
		return `want a size such as "4MiB"`
	}
	if read, ok := readsText(reflect.New(t).Elem()); ok {
		if err := read.UnmarshalText(nil); err != nil {
			return err.Error()
		}
	}
	switch t.Kind() {
	case reflect.Int:
		return "want a whole number"
	case reflect.Float64:
		return "want a number"
	case reflect.Bool:
		return "want true or false"
	default:
		return "want a string"
	}
}

// accepts reports whether a scalar of the file has the right YAML type for a value of type t.
// Secrets are environment variables and headers, where people write PORT: 8080, so they accept any
// scalar.
func accepts(t reflect.Type, n ast.Node) bool {
	isString := n.Type() == ast.StringType || n.Type() == ast.LiteralType
	switch {
	case t == reflect.TypeFor[schemas.Secret](), t == reflect.TypeFor[KeepAlive]():
		return true
	case t == reflect.TypeFor[Size]():
		return isString || n.Type() == ast.IntegerType
	case t == reflect.TypeFor[time.Duration]():
		return isString || n.GetToken().Value == "0" // zero needs no unit
	case t.Kind() == reflect.Int:
		return n.Type() == ast.IntegerType
	case t.Kind() == reflect.Float64:
		return n.Type() == ast.FloatType || n.Type() == ast.IntegerType
	case t.Kind() == reflect.Bool:
		return n.Type() == ast.BoolType
	default:
		return isString
	}
}

// scalarText returns the text of a scalar, and false for lists and mappings.
func scalarText(n ast.Node) (string, bool) {
	switch node := n.(type) {
	case *ast.StringNode:
		return node.Value, true
	case *ast.LiteralNode:
		return node.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	default:
		return "", false
	}
}

func nodeKind(n ast.Node) string {
	switch n.Type() {
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.SequenceType:
		return "a list"
	case ast.StringType, ast.LiteralType:
		return "a string"
	case ast.BoolType:
		return "true or false without quotes"
	case ast.IntegerType, ast.FloatType, ast.InfinityType, ast.NanType:
		return "a number without quotes"
	default:
		return "something else"
	}
}
