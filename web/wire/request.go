package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// Limits of a client's own tools.
const (
	// MaxTools is the maximum number of tools.
	MaxTools = 128
	// MaxToolName is the maximum length of a tool's name, in bytes.
	MaxToolName = 64
)

// IsToolName reports whether OpenAI's API accepts s as the name of a function.
func IsToolName(s string) bool {
	if s == "" || len(s) > MaxToolName {
		return false
	}
	for _, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// Image returns the part for an image with this address, as OpenAI's clients send it.
func Image(url, at string) ([]schemas.Part, error) {
	for _, scheme := range []string{"data:image/", "https://", "http://"} {
		if len(url) > len(scheme) && strings.EqualFold(url[:len(scheme)], scheme) {
			return []schemas.Part{{Kind: schemas.PartImage, Text: url}}, nil
		}
	}
	return nil, Invalid(at, "an image must be a data:image URL or an http(s) address")
}

// Thinking converts OpenAI's reasoning_effort. It returns "" for an unknown value.
func Thinking(effort string) schemas.Thinking {
	switch effort {
	case "none":
		return schemas.ThinkingOff
	case "minimal", "low":
		return schemas.ThinkingLow
	case "medium":
		return schemas.ThinkingMedium
	case "high", "xhigh", "max":
		return schemas.ThinkingHigh
	}
	return ""
}

// AnswerSchema returns the JSON Schema of the answer in a format of the type json_schema or json_object;
// nil for another one. description explains the answer to the model, in a schema that does not.
func AnswerSchema(kind string, schema json.RawMessage, description string) json.RawMessage {
	var fields map[string]json.RawMessage
	switch {
	case kind == "json_object", kind == "json_schema" && !IsSet(schema):
		return providers.AnyObject()
	case kind != "json_schema":
		return nil
	case description == "" || json.Unmarshal(schema, &fields) != nil || len(fields) == 0 || IsSet(fields["description"]):
		return schema
	}
	return slices.Concat(AppendString([]byte(`{"description":`), description), []byte(","), schema[1:])
}
