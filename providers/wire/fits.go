package wire

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// A signature is the top level of a tool's lowered schema.
type signature struct {
	Required   []string             `json:"required"`
	Properties map[string]parameter `json:"properties"`
}

type parameter struct {
	Type  any         `json:"type"` // a name or a list of names
	AnyOf []parameter `json:"anyOf"`
	Enum  []any       `json:"enum"`
}

// fits reports whether arguments are an object that the top level of the tool's schema accepts.
// It only prevents text from being taken for a call; every call's arguments are checked in full
// before execution.
func (t *Tool) fits(arguments string) bool {
	var sig signature
	var values map[string]json.RawMessage
	if json.Unmarshal(t.Params, &sig) != nil || json.Unmarshal([]byte(arguments), &values) != nil || values == nil {
		return false
	}
	for _, key := range sig.Required {
		if _, given := values[key]; !given {
			return false
		}
	}
	closed := t.closed()
	for key, value := range values {
		param, known := sig.Properties[key]
		if !known && closed || known && !param.takes(value) {
			return false
		}
	}
	return true
}

// closed reports whether the original schema forbids other properties.
func (t *Tool) closed() bool {
	var root struct {
		AdditionalProperties any `json:"additionalProperties"`
	}
	return !t.Wrapped && json.Unmarshal(t.Info.InputSchema, &root) == nil && root.AdditionalProperties == false
}

func (p parameter) takes(raw json.RawMessage) bool {
	if len(p.AnyOf) > 0 {
		return slices.ContainsFunc(p.AnyOf, func(branch parameter) bool { return branch.takes(raw) })
	}
	if len(p.Enum) > 0 && !slices.ContainsFunc(p.Enum, func(v any) bool { return equals(v, raw) }) {
		return false
	}
	switch kinds := p.Type.(type) {
	case string:
		return isA(raw, kinds)
	case []any:
		return slices.ContainsFunc(kinds, func(kind any) bool { return isA(raw, kind) })
	}
	return true
}

// equals compares scalars; it accepts any list or object.
func equals(v any, raw json.RawMessage) bool {
	switch v.(type) {
	case string, float64, bool, nil:
		var given any
		return json.Unmarshal(raw, &given) == nil && raw[0] != '{' && raw[0] != '[' && given == v
	}
	return raw[0] == '{' || raw[0] == '['
}

// isA reports whether a JSON value is of a type of JSON Schema.
func isA(raw json.RawMessage, kind any) bool {
	switch raw[0] {
	case '{':
		return kind == "object"
	case '[':
		return kind == "array"
	case '"':
		return kind == "string"
	case 't', 'f':
		return kind == "boolean"
	case 'n':
		return kind == "null"
	}
	if kind == "integer" {
		f, err := strconv.ParseFloat(string(raw), 64)
		return err == nil && f == math.Trunc(f)
	}
	return kind == "number"
}
