package anthropic

import (
	"encoding/json"

	"molar/providers/wire"
	"molar/schemas"
)

// state is stored with a call: the server's id for it, and the thoughts of the answer that came
// before it. Within a turn the service requires them back, unchanged and in their order.
type state struct {
	ID       string    `json:"id,omitempty"`
	Thoughts []thought `json:"thoughts,omitempty"`
}

// A thought is a block of thinking, as it goes back to the service.
type thought struct {
	// At is how much of the answer's text came before it, in bytes.
	At    int             `json:"at,omitempty"`
	Block json.RawMessage `json:"block"`
}

// thinkingBlock and redactedBlock are the forms of a thought on the wire.
type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type redactedBlock struct {
	Type string `json:"type"`
	Data string `json:"data"`
}

// thoughtOf returns a finished block of thinking.
func thoughtOf(b *content, at int) thought {
	var block any = thinkingBlock{b.Type, b.Thinking, b.Signature}
	if b.Type == typeRedacted {
		block = redactedBlock{b.Type, b.Data}
	}
	raw, _ := json.Marshal(block) // strings always marshal
	return thought{At: at, Block: raw}
}

// keep returns the state of a call, or nil if it is empty.
func keep(endpoint string, s state) *schemas.ProviderState {
	if s.ID == "" && len(s.Thoughts) == 0 {
		return nil
	}
	return wire.Keep(endpoint, s)
}
