package providers

import "molar/schemas"

// A Refuser is a [Provider] that leaves tools out of requests, since one that its service
// does not take would sink them all.
type Refuser interface {
	// LeftOut returns the reason for each of the tools that is left out, by its name.
	LeftOut(tools []schemas.ToolInfo) map[string]string
}

// LeftOut returns which of the tools p, or the provider that p wraps, leaves out, and why.
func LeftOut(p Provider, tools []schemas.ToolInfo) map[string]string {
	if r, ok := as[Refuser](p); ok {
		return r.LeftOut(tools)
	}
	return nil
}
