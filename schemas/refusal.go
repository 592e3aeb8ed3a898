package schemas

import "time"

// RefusalTime is how long a tool is not offered to a service that refused it.
const RefusalTime = 24 * time.Hour

// A Refusal is a service's refusal of a tool.
type Refusal struct {
	Provider string `json:"provider"`
	Tool     string `json:"-"`
	// Digest is of the tool's definition at the time: a changed tool is offered again.
	Digest string `json:"-"`
	// Reason is the service's message.
	Reason string    `json:"reason"`
	At     time.Time `json:"refused_at"`
}

// Until returns when the tool is offered again.
func (r Refusal) Until() time.Time { return r.At.Add(RefusalTime) }

// String returns why and until when the tool is omitted.
func (r Refusal) String() string {
	return "the service refused it, and it stays out until " + r.Until().Local().Format("2006-01-02 15:04") + " or until it changes: " + r.Reason
}
