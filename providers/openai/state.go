package openai

import (
	"encoding/json"

	"molar/providers/wire"
	"molar/schemas"
)

// state is stored with a part of an answer. Several services reject the next request of a turn
// without it.
type state struct {
	// ID is the server's id of a call, on both wires.
	ID string `json:"id,omitempty"`
	// Extra is a gateway's data of a call of Chat Completions. reasoning is that of the whole answer,
	// with its first call.
	Extra json.RawMessage `json:"extra_content,omitempty"`
	// Thinking came as a part of the content, and goes back as one.
	Thinking string `json:"thinking,omitempty"`
	reasoning
	trace
}

// trace is what a part of Responses keeps.
type trace struct {
	// Before are the reasoning items that came before the part, for the same model.
	Before []json.RawMessage `json:"before,omitempty"`
	Model  string            `json:"model,omitempty"`
	// Phase is that of the message that begins with the part.
	Phase string `json:"phase,omitempty"`
}

func (t trace) isEmpty() bool { return len(t.Before) == 0 && t.Phase == "" }

// keep returns the state of a part, or nil if it is empty.
func keep(endpoint string, s state) *schemas.ProviderState {
	if s.ID == "" && len(s.Extra) == 0 && s.Thinking == "" && s.reasoning.isEmpty() && s.trace.isEmpty() {
		return nil
	}
	return wire.Keep(endpoint, s)
}
