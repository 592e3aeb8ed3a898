package openai

import (
	"encoding/json"

	"molar/schemas"
)

// state is what is kept beside a call: the server's own id for it, and what a
// gateway attached to it.
type state struct {
	ID    string          `json:"id,omitempty"`
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

// keep makes the state of a call, or nil when there is nothing to keep.
func keep(id string, extra json.RawMessage) *schemas.ProviderState {
	if id == "" && len(extra) == 0 {
		return nil
	}
	data, err := json.Marshal(state{id, extra})
	if err != nil {
		return nil
	}
	return &schemas.ProviderState{Provider: name, Data: data}
}

// recall reads the state of a part. Those of other providers are none of ours.
func recall(p schemas.Part) state {
	var s state
	if p.State != nil && p.State.Provider == name && json.Unmarshal(p.State.Data, &s) != nil {
		return state{}
	}
	return s
}
