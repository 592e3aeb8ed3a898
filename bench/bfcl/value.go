package bfcl

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"molar/eval/match"
)

// A kind is the Python type of a JSON value, since the benchmark's rules are defined by Python:
// 5 and 5.0 differ, and true is not a number.
type kind string

const (
	kindNone   kind = "NoneType"
	kindBool   kind = "bool"
	kindInt    kind = "int"
	kindFloat  kind = "float"
	kindString kind = "str"
	kindList   kind = "list"
	kindDict   kind = "dict"
)

// kindOf returns the type of a decoded value. Numbers are json.Number, or float64 after a
// conversion.
func kindOf(v any) kind {
	switch v := v.(type) {
	case bool:
		return kindBool
	case float64:
		return kindFloat
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			return kindFloat
		}
		return kindInt
	case string:
		if v == notANumber {
			return kindFloat
		}
		return kindString
	case []any:
		return kindList
	case map[string]any:
		return kindDict
	default:
		return kindNone
	}
}

// decode decodes exactly one JSON value, like [match.Decode], and accepts Python's numbers.
func decode(data []byte) (any, error) { return match.Decode(pythonNumbers(data)) }

// notANumber represents NaN. Its zero byte keeps it apart from ordinary texts.
const notANumber = "\x00NaN"

// pythonNumbers replaces NaN and the infinities, which Python accepts in JSON, by values that
// decode.
func pythonNumbers(data []byte) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	var out bytes.Buffer
	for quoted := false; len(data) > 0; {
		n := 1
		switch {
		case quoted && data[0] == '\\' && len(data) > 1:
			n = 2
		case data[0] == '"':
			quoted = !quoted
		case !quoted && bare(data, "Infinity"):
			out.WriteString("1e999999")
			data = data[len("Infinity"):]
			continue
		case !quoted && bare(data, "NaN"):
			out.WriteString(`"\u0000NaN"`)
			data = data[len("NaN"):]
			continue
		}
		out.Write(data[:n])
		data = data[n:]
	}
	return out.Bytes()
}

// show returns a value for a message, with Python's numbers written as in Python.
func show(v any) string {
	return strings.NewReplacer(`"\u0000NaN"`, "NaN", "1e999999", "Infinity").Replace(match.Show(v))
}

// bare reports whether data begins with the word, as a whole.
func bare(data []byte, word string) bool {
	rest, ok := bytes.CutPrefix(data, []byte(word))
	return ok && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n,]}"))
}

// equal compares two values like Python: 5 == 5.0 and true == 1, at any depth.
func equal(a, b any) bool {
	x, isX := number(a)
	y, isY := number(b)
	if isX || isY {
		return x != nil && y != nil && x.Cmp(y) == 0
	}
	switch a := a.(type) {
	case string:
		s, ok := b.(string)
		return ok && s == a
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, equal)
	case map[string]any:
		object, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, object, equal)
	default:
		return a == nil && b == nil
	}
}

// number returns what Python compares as a number, exactly; NaN is nil, which equals nothing.
func number(v any) (*big.Float, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return big.NewFloat(1), true
		}
		return new(big.Float), true
	case float64:
		return new(big.Float).SetFloat64(v), true
	case json.Number:
		if n, whole := new(big.Int).SetString(string(v), 10); whole {
			return new(big.Float).SetInt(n), true
		}
		return new(big.Float).SetFloat64(float(v)), true
	case string:
		return nil, v == notANumber
	}
	return nil, false
}

// float converts a number to a float; one out of range becomes infinite.
func float(n json.Number) float64 {
	f, _ := strconv.ParseFloat(string(n), 64) // Go parses every JSON number
	return f
}

// contains reports whether the list holds a value equal to v.
func contains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(item any) bool { return equal(item, v) })
}

// omittable reports whether the accepted values mark the argument as omittable.
func omittable(accepted []any) bool { return contains(accepted, "") }
