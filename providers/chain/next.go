package chain

import (
	"molar/providers"
)

// Next says in words what follows a failure of a call: what [Again] does, and the turn or a list of
// providers above it. shown is set if text or calls came before the failure.
func Next(e *providers.Error, shown bool) string {
	switch {
	case shown && !e.Reask:
		return "ends, with what was shown"
	case e.Changed:
		return "learns, asks again"
	case e.Again != "":
		return "asks again"
	case e.Kind == providers.KindContextLength:
		return "shortens, asks again; then the next provider"
	case pauseAfter(e, 0) > 0 && canFallBack(e.Kind):
		return "waits, asks again; then the next provider"
	case pauseAfter(e, 0) > 0:
		return "waits, asks again"
	case canFallBack(e.Kind):
		return "the next provider"
	}
	return "ends"
}
