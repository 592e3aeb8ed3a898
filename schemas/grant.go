package schemas

import "time"

// A Grant is a person's yes that stands: their calls about its subject, a tool and where its
// arguments go, run without a question.
type Grant struct {
	ID      string `json:"id"`
	Owner   string `json:"-"`
	Subject string `json:"subject"`
	// ConversationID is empty where it counts in all of the person's conversations.
	ConversationID string    `json:"conversation_id,omitempty"`
	GivenAt        time.Time `json:"given_at"`
}
