package schemas

import (
	"encoding/json"
	"time"
)

// A Conversation is an entry of a conversation list.
type Conversation struct {
	ID string `json:"id"`
	// Title is the start of the first question, or the name a person gave it.
	Title     string    `json:"title"`
	Messages  int       `json:"messages"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// A StoredMessage is a message as the memory keeps it.
type StoredMessage struct {
	// Seq counts the messages of a conversation from 1.
	Seq       int64     `json:"seq,omitempty"`
	Role      Role      `json:"role"`
	Content   string    `json:"content"`
	Timestamp time.Time `json:"timestamp"`
	// TurnID is empty for messages that were added outside a turn.
	TurnID string `json:"turn_id,omitempty"`
	// Status is "interrupted" for an answer that was cut short, else empty.
	Status  string   `json:"status,omitempty"`
	Sources []Source `json:"sources,omitempty"`
	// Calls are the rounds of a turn that called tools, a JSON list of [Round].
	Calls json.RawMessage `json:"calls,omitempty"`
}

// StatusInterrupted marks an answer that was cut short; it is never summarised.
const StatusInterrupted = "interrupted"

// A Lease is the right to write one turn to a conversation. A later lease on the
// same conversation has a higher fence and makes earlier ones worthless.
type Lease struct {
	ConversationID string    `json:"conversation_id"`
	Token          string    `json:"token"`
	Fence          int64     `json:"fence"`
	Expires        time.Time `json:"expires"`
}

// A Round is one answer of the model within a turn, as it is stored: what it said and
// called, with the provider's private state on each part, and what the calls gave, in
// their order. The last round of a turn has no results.
type Round struct {
	Said    Message      `json:"said"`
	Results []ToolResult `json:"results,omitempty"`
}
