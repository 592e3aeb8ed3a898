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

// Half of maxDescription is for what the schema could not express.
const maxDescription = lower.MaxOpenAIDescription

// A toolFunction is a function in the form of Chat Completions, which Responses extends.
type toolFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// lowerChatTool converts a tool to the form of Chat Completions.
func lowerChatTool(t *wire.Tool) error {
	f, err := lowerFunction(t)
	if err != nil {
		return err
	}
	t.Wire, err = json.Marshal(struct {
		Type     string       `json:"type"`
		Function toolFunction `json:"function"`
	}{"function", f})
	return err
}

// lowerResponsesTool converts a tool to the form of Responses. There a function is strict unless it
// says otherwise, which the schemas of servers seldom are.
func lowerResponsesTool(t *wire.Tool) error {
	f, err := lowerFunction(t)
	if err != nil {
		return err
	}
	t.Wire, err = json.Marshal(struct {
		Type string `json:"type"`
		toolFunction
		Strict bool `json:"strict"`
	}{"function", f, false})
	return err
}

func lowerFunction(t *wire.Tool) (toolFunction, error) {
	res, err := lower.ForOpenAI(t.Info.InputSchema)
	if err != nil {
		return toolFunction{}, err
	}
	t.Params, t.Description, t.Wrapped = res.Schema, describe(t.Info, res.Hint), res.Wrapped
	return toolFunction{t.Info.Name, t.Description, res.Schema}, nil
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
