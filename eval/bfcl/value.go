package bfcl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
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
		return kindString
	case []any:
		return kindList
	case Object:
		return kindDict
	default:
		return kindNone
	}
}

// An Object is a JSON object whose keys keep their order; of two equal keys the last
// one counts, in the place of the first.
type Object []Member

// A Member is a key of an [Object] with its value.
type Member struct {
	Key   string
	Value any
}

// Get finds the value of a key.
func (o Object) Get(key string) (any, bool) {
	for _, m := range o {
		if m.Key == key {
			return m.Value, true
		}
	}
	return nil, false
}

// set adds a member or replaces the one of the same key.
func (o Object) set(key string, value any) Object {
	for i := range o {
		if o[i].Key == key {
			o[i].Value = value
			return o
		}
	}
	return append(o, Member{Key: key, Value: value})
}

// Decode reads exactly one JSON value: objects as [Object], arrays as []any, numbers
// as json.Number.
func Decode(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(pythonNumbers(data)))
	dec.UseNumber()
	v, err := decode(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data after the JSON value")
	}
	return v, nil
}

// notANumber stands for NaN until it is decoded; no JSON text begins with a zero byte
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

// bare reports whether data begins with the word, and the word ends there.
func bare(data []byte, word string) bool {
	rest, ok := bytes.CutPrefix(data, []byte(word))
	return ok && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n,]}"))
}

func decode(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		object := Object{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			value, err := decode(dec)
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			object = object.set(name, value)
		}
		_, err = dec.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			value, err := decode(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = dec.Token()
		return list, err
	case notANumber:
		return math.NaN(), nil
	}
	return tok, nil
}

// equal compares as Python does: 5 == 5.0 and true == 1 hold, at any depth.
func equal(a, b any) bool {
	x, isX := number(a)
	y, isY := number(b)
	if isX || isY {
		return isX && isY && sameNumber(x, y)
	}
	switch a := a.(type) {
	case string:
		s, ok := b.(string)
		return ok && s == a
	case []any:
		list, ok := b.([]any)
		if !ok || len(list) != len(a) {
			return false
		}
		for i := range a {
			if !equal(a[i], list[i]) {
				return false
			}
		}
		return true
	case Object:
		object, ok := b.(Object)
		if !ok || len(object) != len(a) {
			return false
		}
		for _, m := range a {
			if v, found := object.Get(m.Key); !found || !equal(m.Value, v) {
				return false
			}
		}
		return true
	default:
		return a == nil && b == nil
	}
}

// A num is an exact number; big is nil for infinities and NaN.
type num struct {
	big   *big.Rat
	float float64
}

func sameNumber(x, y num) bool {
	if x.big == nil || y.big == nil {
		return x.big == nil && y.big == nil && x.float == y.float
	}
	return x.big.Cmp(y.big) == 0
}

// number reads what Python compares as a number.
func number(v any) (num, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return num{big: big.NewRat(1, 1)}, true
		}
		return num{big: new(big.Rat)}, true
	case float64:
		return num{big: new(big.Rat).SetFloat64(v), float: v}, true
	case json.Number:
		if kindOf(v) == kindInt {
			r, ok := new(big.Rat).SetString(string(v))
			return num{big: r}, ok
		}
		f := float(v)
		return num{big: new(big.Rat).SetFloat64(f), float: f}, true
	}
	return num{}, false
}

// float converts a number to a float; one out of range becomes infinite.
func float(n json.Number) float64 {
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil && !math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}

// contains reports whether the list holds a value equal to v.
func contains(list []any, v any) bool {
	for _, item := range list {
		if equal(item, v) {
			return true
		}
	}
	return false
}

// omittable reports whether an accepted list says that the argument may be left out.
func omittable(accepted []any) bool { return contains(accepted, "") }
