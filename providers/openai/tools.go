package openai

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"molar/providers/wire"
	"molar/schemas"
	"molar/schemas/lower"
)

// maxDescription is the API's limit of a function description, in characters. Half of it is for
// what the schema could not express.
const maxDescription = 1024

// lowerTool converts a tool to the wire form.
func lowerTool(t *wire.Tool) error {
	res, err := lower.ForOpenAI(t.Info.InputSchema)
	if err != nil {
		return err
	}
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	t.Params, t.Description, t.Wrapped = res.Schema, describe(t.Info, res.Hint), res.Wrapped
	t.Wire, err = json.Marshal(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{t.Info.Name, t.Description, res.Schema}})
	return err
}

// describe joins a tool's description and what its schema could not express. If they are too long
// together, it cuts the description first.
func describe(info schemas.ToolInfo, hint string) string {
	text := wire.Described(info, "")
	if hint == "" || strings.Contains(text, hint) {
		return cut(text, maxDescription)
	}
	hint = cut(hint, maxDescription/2)
	if text == "" {
		return hint
	}
	return cut(text, maxDescription-utf8.RuneCountInString(hint)-1) + "\n" + hint
}

// cut shortens s to at most limit characters and marks the cut.
func cut(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}
