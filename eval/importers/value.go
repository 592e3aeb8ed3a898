package importers

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

// A kind is the type that a JSON value has in Python, in which the benchmark's rules
// are written: 5 and 5.0 differ, and true is no number.
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

// kindOf says which type a decoded value has. Numbers are json.Number, or float64
// once they were converted.
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

// decode reads exactly one JSON value, as [match.Decode] does, with Python's numbers.
func decode(data []byte) (any, error) { return match.Decode(pythonNumbers(data)) }

// notANumber stands for NaN; no JSON text begins with a zero byte
// unless somebody means this.
const notANumber = "\x00NaN"

// pythonNumbers writes what Python takes for JSON and JSON does not know, NaN and the
// infinities, in a form that decodes.
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

// show writes a value for a person, and Python's numbers as Python does.
func show(v any) string {
	return strings.NewReplacer(`"\u0000NaN"`, "NaN", "1e999999", "Infinity").Replace(match.Show(v))
}

// bare reports whether data begins with the word, and the word ends there.
func bare(data []byte, word string) bool {
	rest, ok := bytes.CutPrefix(data, []byte(word))
	return ok && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n,]}"))
}

// equal compares as Python does: 5 == 5.0 and true == 1 hold, at any depth.
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

// number reads what Python compares as a number, exactly; NaN is nil, which equals nothing.
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
	f, _ := strconv.ParseFloat(string(n), 64) // a number of JSON is a number of Go
	return f
}

// contains reports whether the list holds a value equal to v.
func contains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(item any) bool { return equal(item, v) })
}

// omittable reports whether an accepted list says that the argument may be left out.
func omittable(accepted []any) bool { return contains(accepted, "") }
