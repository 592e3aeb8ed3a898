package schemas

import (
	"encoding/json"
	"time"
)

// A KeyRecord is an Idempotency-Key of an owner, and the turn that it began.
type KeyRecord struct {
	Owner string
	Key   string
	// Hash is that of the request's body: a key belongs to one body.
	Hash           string
	TurnID         string
	ConversationID string
	// Acted says that a tool of the turn may have had its effect.
	Acted bool
	// Outcome is what the client was told, as JSON of its teller; empty while the turn runs.
	Outcome json.RawMessage
	// CreatedAt is when the key was first claimed.
	CreatedAt time.Time
}

// A KeptTurn waits for something that its client sends later.
type KeptTurn struct {
	Owner          string
	ConversationID string
	// CallIDs are the calls that it waits for; each of them finds it.
	CallIDs []string
	// State is JSON of its keeper.
	State   json.RawMessage
	Expires time.Time
}

// A KeptResponse is an answer of the Responses API, as it can be read again and continued.
type KeptResponse struct {
	Owner, ID, ConversationID string
	// CreatedAt is when the response began.
	CreatedAt time.Time
	// Body is JSON of its keeper.
	Body json.RawMessage
}
