package schemas

import "time"

// The marks of feedback.
const (
	MarkUp   = "up"
	MarkDown = "down"
)

// MaxNote bounds the note of a mark, in characters.
const MaxNote = 4000

// Feedback is a person's feedback on an answer.
type Feedback struct {
	TurnID         string `json:"turn_id"`
	ConversationID string `json:"conversation_id"`
	// Assistant is the author of the answer; empty if the trace of the turn is no longer stored.
	Assistant string `json:"assistant,omitempty"`
	// Mark is "up" or "down"; "none" in the answer to a request that removed it.
	Mark     string    `json:"mark"`
	Note     string    `json:"note,omitempty"`
	MarkedAt time.Time `json:"marked_at"`
	// By is "person" for the mark of the person who asked, "reviewer" for that of somebody who reviews.
	By string `json:"by,omitempty"`
	// Owner is the owner of the conversation; it is never sent.
	Owner string `json:"-"`
}

// A FeedbackFilter selects feedback; empty fields select all.
type FeedbackFilter struct {
	Mark, Assistant, ConversationID, TurnID string
	// Assistants are those whose answers may be selected; nil means all, an empty list none.
	Assistants []string
	Since      time.Time
	// Limit bounds the results; 0 means all.
	Limit int
}
