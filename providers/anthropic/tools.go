package anthropic

import (
	"encoding/json"

	"molar/providers/wire"
	"molar/schemas/lower"
)

// lowerTool converts a tool to the wire form.
func lowerTool(t *wire.Tool) error {
	res, err := lower.ForAnthropic(t.Info.InputSchema)
	if err != nil {
		return err
	}
	t.Params, t.Description, t.Wrapped = res.Schema, wire.Described(t.Info, res.Hint), res.Wrapped
	t.Wire, err = json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"input_schema"`
	}{t.Info.Name, t.Description, res.Schema})
	return err
}
