package turns

import "molar/agent/answer"

// Acts reports whether ev begins a call that may have an effect.
func Acts(ev answer.Event) bool { return ev.Kind == answer.KindToolCall && ev.Effect }

// Effects records whether a tool of a turn may have had an effect. The zero value is a turn
// without calls.
type Effects struct {
	had bool
	// open has the ids of calls that have begun; their end may never be reported.
	open map[string]bool
}

// Add records an event of the turn.
func (e *Effects) Add(ev answer.Event) {
	switch {
	case Acts(ev):
		if e.open == nil {
			e.open = make(map[string]bool)
		}
		e.open[ev.Call.ID] = true
	case ev.Kind == answer.KindToolResult:
		e.had = e.had || ev.Effect
		delete(e.open, ev.Call.ID)
	}
}

// Any reports whether a tool may have had an effect.
func (e *Effects) Any() bool { return e.had || len(e.open) > 0 }
