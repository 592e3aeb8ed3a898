package providers

import "molar/schemas"

// A Refuser is a [Provider] that omits tools which its service rejects: one of them would fail the
// whole request.
type Refuser interface {
	// LeftOut returns why tools are omitted, by name.
	LeftOut(tools []schemas.ToolInfo) map[string]string
}

// LeftOut returns why p, or the provider that p wraps, omits tools, by name.
func LeftOut(p Provider, tools []schemas.ToolInfo) map[string]string {
	if r, ok := as[Refuser](p); ok {
		return r.LeftOut(tools)
	}
	return nil
}
