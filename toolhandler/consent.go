package toolhandler

import (
	"slices"

	"molar/schemas"
)

// consented reports whether a person has approved exactly this call. One that runs uses its approval up.
func (t *Turn) consented(tool schemas.Tool, call schemas.ToolCall, runs bool) bool {
	t.consenting.Lock()
	defer t.consenting.Unlock()
	call.Function.Name = tool.Name // the model may have written another name
	i := slices.IndexFunc(t.consents, func(agreed schemas.ToolCall) bool { return SameCall(agreed, call) })
	if i >= 0 && runs {
		t.consents = slices.Delete(t.consents, i, i+1)
	}
	return i >= 0
}

// SameCall reports whether two calls are of the same tool with equal arguments, regardless of
// formatting.
func SameCall(a, b schemas.ToolCall) bool {
	return a.Function.Name == b.Function.Name && canonical(a.Function.Arguments) == canonical(b.Function.Arguments)
}
