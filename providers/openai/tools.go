package openai

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"molar/internal/text"
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
	described := wire.Described(info, "")
	if hint == "" || strings.Contains(described, hint) {
		return text.Truncate(described, maxDescription)
	}
	hint = text.Truncate(hint, maxDescription/2)
	if described == "" {
		return hint
	}
	return text.Truncate(described, maxDescription-utf8.RuneCountInString(hint)-1) + "\n" + hint
}
