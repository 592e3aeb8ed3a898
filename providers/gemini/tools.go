package gemini

import (
	"encoding/json"
	"errors"

	"molar/providers/wire"
	"molar/schemas/lower"
)

// lowerTool converts a tool to the wire form.
func lowerTool(t *wire.Tool) error {
	if !wire.IsFunctionName(t.Info.Name) {
		return errors.New("its name is not a function name: a letter or _, then letters, digits, _ and -, at most 64")
	}
	res, err := lower.ForGemini(t.Info.InputSchema)
	if err != nil {
		return err
	}
	t.Params, t.Description, t.Wrapped = res.Schema, wire.Described(t.Info, res.Hint), res.Wrapped
	if string(res.Schema) == `{"type":"object"}` {
		res.Schema = nil // some models reject an object without properties
	}
	t.Wire, err = json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
	}{t.Info.Name, t.Description, res.Schema})
	return err
}
