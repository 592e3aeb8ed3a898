package match

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"molar/internal/text"
)

// Decode decodes one JSON value, with numbers as json.Number, so that no digit is lost.
func Decode(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data after the JSON value")
	}
	return v, nil
}

// Normal converts values from YAML or Go code to the form of [Decode]: numbers as json.Number,
// objects as map[string]any. What has no JSON form stays as it is.
func Normal(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return v
	}
	if plain, err := Decode(data); err == nil {
		return plain
	}
	return v
}

// Plain is the reverse of [Normal], for encoders that support only Go's number types.
func Plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return string(v)
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, value := range v {
			object[key] = Plain(value)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = Plain(v[i])
		}
		return list
	}
	return v
}

// Equal compares two JSON values: numbers by value (5 equals 5.0, no number equals a boolean),
// texts byte for byte.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		n, ok := b.(json.Number)
		return ok && sameNumber(a, n)
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, Equal)
	case map[string]any:
		object, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, object, Equal)
	case string, bool, nil:
		return a == b
	}
	return false
}

func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, okX := rational(a)
	y, okY := rational(b)
	return okX && okY && x.Cmp(y) == 0
}

// rational parses a number exactly. It refuses a huge exponent, since the memory use grows with
// it.
func rational(n json.Number) (*big.Rat, bool) {
	const largest = 400
	if i := strings.IndexAny(string(n), "eE"); i >= 0 {
		if exp, err := strconv.Atoi(string(n[i+1:])); err != nil || exp > largest || exp < -largest {
			return nil, false
		}
	}
	return new(big.Rat).SetString(string(n))
}

// Show returns a value as compact JSON with sorted keys, cut to 200 bytes.
func Show(v any) string {
	return text.Clip(Canonical(v), 200, "…")
}

// Canonical returns a value as compact JSON with sorted keys. Numbers keep their digits, and
// only characters that need it are escaped.
func Canonical(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// CanonicalJSON returns JSON text in the form of [Canonical], and other text unchanged.
func CanonicalJSON(data []byte) string {
	v, err := Decode(data)
	if err != nil {
		return string(data)
	}
	return Canonical(v)
}

// pointer finds the value at a JSON pointer (RFC 6901). The empty pointer is the value itself.
func pointer(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, true
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[part]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}
