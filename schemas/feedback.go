package schemas

import "time"

// The marks that a person may give an answer.
const (
	MarkUp   = "up"
	MarkDown = "down"
)

// MaxNote is the largest note beside a mark, in characters.
const MaxNote = 4000

// Feedback is what a person said of an answer.
type Feedback struct {
	TurnID         string `json:"turn_id"`
	ConversationID string `json:"conversation_id"`
	// Assistant is who answered; empty where the trace of the turn is no longer kept.
	Assistant string `json:"assistant,omitempty"`
	// Mark is "up" or "down"; in the answer to a request that took it back, "none".
	Mark     string    `json:"mark"`
	Note     string    `json:"note,omitempty"`
	MarkedAt time.Time `json:"marked_at"`
	// Owner is whose conversation it is; it is never sent.
	Owner string `json:"-"`
}

// A FeedbackFilter chooses feedback; what is empty does not narrow it.
type FeedbackFilter struct {
	Mark, Assistant, ConversationID string
	Since                           time.Time
	// Limit is the most that is wanted; 0 means all.
	Limit int
}
