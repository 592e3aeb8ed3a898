package telemetry

import (
	"strconv"
	"time"
)

// A Turn is a finished turn.
type Turn struct {
	// Assistant is a configured one; empty for a turn that named another.
	Assistant string
	// Outcome is done, refused, interrupted or failed.
	Outcome string
	// Unsaved is set when the store failed, so that the turn is not in it.
	Unsaved bool
	Took    time.Duration
}

// CountTurn counts a turn.
func (t *Telemetry) CountTurn(turn Turn) {
	if t == nil || t.metrics == nil {
		return
	}
	if turn.Assistant == "" {
		turn.Assistant = "unknown"
	}
	t.metrics.turns.WithLabelValues(turn.Assistant, turn.Outcome).Inc()
	t.metrics.turnTime.WithLabelValues(turn.Assistant).Observe(turn.Took.Seconds())
	if turn.Unsaved {
		t.metrics.unsaved.WithLabelValues(turn.Assistant).Inc()
	}
}

// CountStep counts the time that a step delayed its turn. name is one of a few.
func (t *Telemetry) CountStep(name string, took time.Duration) {
	if t != nil && t.metrics != nil {
		t.metrics.stepTime.WithLabelValues(name).Observe(took.Seconds())
	}
}

// CountVerdict counts a decision of a guardrail.
func (t *Telemetry) CountVerdict(topic, verdict, by string) {
	if t != nil && t.metrics != nil {
		t.metrics.verdicts.WithLabelValues(topic, verdict, by).Inc()
	}
}

// The values of what for [Telemetry.CountTruncation].
const (
	CutAnswer     = "answer"
	CutToolResult = "tool_result"
)

// CountTruncation counts something that was cut.
func (t *Telemetry) CountTruncation(what string) {
	if t != nil && t.metrics != nil {
		t.metrics.truncations.WithLabelValues(what).Inc()
	}
}

// CountWebhook counts an event for the webhook by its outcome.
func (t *Telemetry) CountWebhook(outcome string) {
	if t != nil && t.metrics != nil {
		t.metrics.webhooks.WithLabelValues(outcome).Inc()
	}
}

// CountRefusedVisitor counts a question of a visitor that a limit refused.
func (t *Telemetry) CountRefusedVisitor(limit string) {
	if t != nil && t.metrics != nil {
		t.metrics.refusedVisitors.WithLabelValues(limit).Inc()
	}
}

// CountReconnect counts a configured server's reconnection.
func (t *Telemetry) CountReconnect(server string) {
	if t != nil && t.metrics != nil {
		t.metrics.reconnects.WithLabelValues(server).Inc()
	}
}

// OpenStream counts a chat request until the returned func is called.
func (t *Telemetry) OpenStream() (closed func()) {
	if t == nil || t.metrics == nil {
		return func() {}
	}
	t.metrics.openStreams.Inc()
	return t.metrics.openStreams.Dec
}

// countRequest counts an HTTP request. An unknown route is "none", and an unknown method
// "other".
func (t *Telemetry) countRequest(method, route string, status int, took time.Duration) {
	if t.metrics == nil {
		return
	}
	if route == "" {
		route = "none"
	}
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
	default:
		method = other
	}
	t.metrics.asked.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	t.metrics.requestTime.WithLabelValues(route).Observe(took.Seconds())
}
