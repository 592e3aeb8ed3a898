package schemas

import "time"

// A Grant is a person's standing approval: calls about its subject, a tool and its destinations,
// run without asking.
type Grant struct {
	ID      string `json:"id"`
	Owner   string `json:"-"`
	Subject string `json:"subject"`
	// ConversationID is empty if the grant applies to all of the person's conversations.
	ConversationID string    `json:"conversation_id,omitempty"`
	GivenAt        time.Time `json:"given_at"`
}
