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

// called returns the tools that the history calls, in the wire form, each once and with any arguments.
// The service refuses calls in the messages of a request that has no tools
// (https://github.com/anthropics/anthropic-sdk-python/issues/494).
func (h *history) called() []json.RawMessage {
	var list []json.RawMessage
	seen := map[string]bool{}
	for _, m := range h.out {
		for _, b := range m.Content {
			if b.Type == typeToolUse && !seen[b.Name] {
				seen[b.Name] = true
				list = append(list, json.RawMessage(`{"name":"`+b.Name+`","input_schema":{"type":"object"}}`))
			}
		}
	}
	return list
}
