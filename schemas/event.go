package schemas

import (
	"encoding/json"
	"time"
)

// A WebhookEvent is something that a webhook is told.
type WebhookEvent struct {
	// ID is the same at each try.
	ID string
	// Hook is which webhook is told.
	Hook string
	// Owner is whom it is about.
	Owner string
	// Body is what is sent.
	Body json.RawMessage
	// Created is when it happened, Next when it is tried next, both in whole milliseconds.
	Created, Next time.Time
}
