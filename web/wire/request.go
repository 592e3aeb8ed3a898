package wire

import (
	"encoding/json"
	"strings"

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

// AnswerWith returns an instruction for the model to answer according to a schema.
func AnswerWith(schema json.RawMessage) string {
	return "Answer with one JSON value that matches this JSON Schema:\n" + string(schema)
}
