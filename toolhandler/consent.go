package toolhandler

import (
	"slices"
	"sync"

	"molar/schemas"
)

// consents are the exact calls that a person has approved. Each is used once.
type consents struct {
	mu    sync.Mutex
	calls []schemas.ToolCall
}

func newConsents(calls []schemas.ToolCall) *consents {
	return &consents{calls: slices.Clone(calls)}
}

func (c *consents) find(call schemas.ToolCall) int {
	return slices.IndexFunc(c.calls, func(agreed schemas.ToolCall) bool { return SameCall(agreed, call) })
}

func (c *consents) has(tool schemas.Tool, call schemas.ToolCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.Function.Name = tool.Name // the model may have written another name
	return c.find(call) >= 0
}

// consented uses up the approval of the call, and reports whether there was one.
func (t *Turn) consented(tool schemas.Tool, call schemas.ToolCall) bool {
	t.consents.mu.Lock()
	defer t.consents.mu.Unlock()
	call.Function.Name = tool.Name
	i := t.consents.find(call)
	if i < 0 {
		return false
	}
	t.consents.calls = slices.Delete(t.consents.calls, i, i+1)
	return true
}

// SameCall reports whether two calls are of the same tool with equal arguments, regardless of
// formatting.
func SameCall(a, b schemas.ToolCall) bool {
	return a.Function.Name == b.Function.Name && canonical(a.Function.Arguments) == canonical(b.Function.Arguments)
}
