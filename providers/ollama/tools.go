package ollama

import (
	"encoding/json"

	"molar/providers/wire"
	"molar/schemas/lower"
)

// lowerTool converts a tool to the wire form.
func lowerTool(t *wire.Tool) error {
	res, err := lower.ForOllama(t.Info.InputSchema)
	if err != nil {
		return err
	}
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	t.Params, t.Description, t.Wrapped = res.Schema, wire.Described(t.Info, res.Hint), res.Wrapped
	t.Wire, err = json.Marshal(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{t.Info.Name, t.Description, res.Schema}})
	return err
}
