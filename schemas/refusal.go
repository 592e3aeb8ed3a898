package schemas

import "time"

// RefusalTime is how long a tool that a service refused is not offered to it.
const RefusalTime = 24 * time.Hour

// A Refusal says that the service of a provider refused a tool.
type Refusal struct {
	Provider string `json:"provider"`
	Tool     string `json:"-"`
	// Digest is of the tool's definition then: one that has changed is offered again.
	Digest string `json:"-"`
	// Reason is in the service's own words.
	Reason string    `json:"reason"`
	At     time.Time `json:"refused_at"`
}

// Until is when the tool is offered again.
func (r Refusal) Until() time.Time { return r.At.Add(RefusalTime) }

// String says why and until when the tool is left out.
func (r Refusal) String() string {
	return "the service refused it, and it stays out until " + r.Until().Local().Format("2006-01-02 15:04") + " or until it changes: " + r.Reason
}
