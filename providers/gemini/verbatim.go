package gemini

import (
	"encoding/base64"
	"encoding/json"
)

// A verbatim is JSON that passes through the SDK unchanged, as a string in an object. As a value the
// SDK would round its numbers, sort its keys, and omit it if it is empty.
type verbatim []byte

// verbatimKey is the only key of that object.
const verbatimKey = "molar:verbatim"

// object returns the form for the SDK.
func (v verbatim) object() map[string]any { return map[string]any{verbatimKey: string(v)} }

// unwrap returns the JSON in an object of the SDK, if any.
func unwrap(object map[string]any) verbatim {
	text, _ := object[verbatimKey].(string)
	return verbatim(text)
}

// MarshalJSON returns the form for the SDK.
func (v verbatim) MarshalJSON() ([]byte, error) { return json.Marshal(v.object()) }

// UnmarshalJSON keeps the JSON as it is written.
func (v *verbatim) UnmarshalJSON(data []byte) error {
	*v = append((*v)[:0], data...)
	return nil
}

// mendBody mends the body of a request before the SDK sends it.
func mendBody(body map[string]any) map[string]any {
	mendValue(body)
	return body
}

// mendValue mends a value in place, and returns what replaces it.
func mendValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if raw := unwrap(value); len(raw) > 0 {
			return json.RawMessage(raw)
		}
		for key, inner := range value {
			value[key] = mendValue(inner)
		}
		mendSigned(value)
	case []any:
		for i, inner := range value {
			value[i] = mendValue(inner)
		}
	case []map[string]any:
		for _, inner := range value {
			mendValue(inner)
		}
	}
	return value
}

// mendSigned adds the empty text of a signed part, which the SDK omits, and decodes the placeholder
// of a signature, which it encodes.
func mendSigned(part map[string]any) {
	switch signed := part["thoughtSignature"]; {
	case signed == nil:
	case len(part) == 1:
		part["text"] = ""
	case signed == base64.StdEncoding.EncodeToString([]byte(anySignature)):
		part["thoughtSignature"] = anySignature
	}
}
