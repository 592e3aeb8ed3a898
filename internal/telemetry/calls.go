package telemetry

import (
	"strings"
	"sync"
	"time"
)

// maxCalls is the number of stored calls, and maxErrorLength the length of their errors, in bytes.
const (
	maxCalls       = 500
	maxErrorLength = 500
)

// A Call is a finished tool call, for inspection.
type Call struct {
	// ID is the id of the call, TurnID that of the turn; empty for an operator's call.
	ID     string    `json:"id"`
	TurnID string    `json:"turn_id,omitempty"`
	At     time.Time `json:"at"`
	Server string    `json:"server"`
	// Tool is the tool's own name; for an unknown tool, the name that the model used.
	Tool string `json:"tool"`
	// Status is "ok", "tool_error", "unknown_tool", "invalid_arguments",
	// "not_approved", "refused", "limit", "timeout" or "failed".
	Status string `json:"status"`
	// DurationMS is in milliseconds.
	DurationMS float64 `json:"duration_ms"`
	Error      string  `json:"error,omitempty"`
}

// CountCall counts and remembers a tool call.
func (t *Telemetry) CountCall(c Call) {
	if t == nil {
		return
	}
	if len(c.Error) > maxErrorLength {
		c.Error = strings.ToValidUTF8(c.Error[:maxErrorLength], "") + "…"
	}
	t.calls.add(c)
	if t.metrics == nil {
		return
	}
	// Only listed tools become labels: a model may call tools that do not exist.
	server, tool := "none", "unknown"
	if c.Server != "" {
		server, tool = c.Server, c.Tool
		if t.metrics.tools.of(server+"\x00"+tool, false) == other {
			tool = other
		}
	}
	t.metrics.toolCalls.WithLabelValues(server, tool, c.Status).Inc()
	t.metrics.toolTime.WithLabelValues(server).Observe(c.DurationMS / 1000)
}

// Calls returns the latest tool calls, newest first: at most 500 are kept, until the host
// ends.
func (t *Telemetry) Calls() []Call {
	if t == nil {
		return nil
	}
	return t.calls.list()
}

// A ring keeps the last calls.
type ring struct {
	mu    sync.Mutex
	calls []Call
	next  int
}

func (r *ring) add(c Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) < maxCalls {
		r.calls = append(r.calls, c)
		return
	}
	r.calls[r.next] = c
	r.next = (r.next + 1) % maxCalls
}

func (r *ring) list() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Call, 0, len(r.calls))
	for i := range r.calls {
		all = append(all, r.calls[(r.next+len(r.calls)-1-i)%len(r.calls)])
	}
	return all
}
