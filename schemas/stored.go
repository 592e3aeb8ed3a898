package schemas

import (
	"encoding/json"
	"time"
)

// A KeyRecord is an owner's Idempotency-Key, and the turn that it began.
type KeyRecord struct {
	Owner string
	Key   string
	// Hash is the hash of the request's body: a key belongs to one body.
	Hash           string
	TurnID         string
	ConversationID string
	// Acted is set if a tool of the turn may have had its effect.
	Acted bool
	// Outcome is the client's answer, as the JSON of its author; empty while the turn runs.
	Outcome json.RawMessage
	// CreatedAt is when the key was first claimed.
	CreatedAt time.Time
}

// A PauseRecord is the stored form of a turn that waits for something from its client.
type PauseRecord struct {
	Owner          string
	ConversationID string
	// CallIDs are the calls it waits for; each of them identifies it.
	CallIDs []string
	// State is the JSON of its owner.
	State   json.RawMessage
	Expires time.Time
	// Started is when the turn began: one whose conversation or owner was erased since is not stored.
	Started time.Time
}

// A StoredResponse is an answer of the Responses API that can be read again and continued.
type StoredResponse struct {
	Owner, ID, ConversationID string
	// CreatedAt is when the response began.
	CreatedAt time.Time
	// Body is the JSON of its owner.
	Body json.RawMessage
}
