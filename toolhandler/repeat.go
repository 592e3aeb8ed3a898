package toolhandler

import (
	"fmt"
	"time"

	"molar/schemas"
)

const (
	// repeatTime is how long after a call the same one counts as a repeat.
	repeatTime = 10 * time.Second
	// maxRepeats is how many times a call may be made again before the tool rounds end.
	maxRepeats = 2
)

// repeats holds the calls of a turn that only read, with their results, since the last call that may
// have changed something. A model that makes the same call again gets the same result, without a
// call.
type repeats struct {
	calls map[string]*repeated
	// ended is set once a call was repeated too often.
	ended bool
}

// A repeated is a call that succeeded.
type repeated struct {
	result schemas.ToolResult
	// times counts how often the call was made again, at is when it was made last.
	times int
	at    time.Time
}

// keysOf returns what identifies each call among the calls of a turn, "" for calls that are no
// repeats of others. A round in which a call may change something has none, and ends those before it.
func (r *round) keysOf(calls []schemas.ToolCall) []string {
	keys := make([]string, len(calls))
	for i, call := range calls {
		tool, known := r.turn.Lookup(call.Function.Name)
		if known && r.turn.classOf(tool) != Reads {
			r.turn.repeats.calls = nil
			return make([]string, len(calls))
		}
		if known && !tool.Rules.Poll && r.faults[i] == nil {
			keys[i] = tool.Name + " " + canonical(string(r.args[i]))
		}
	}
	return keys
}

// find returns the earlier call with a key, if the call now repeats it.
func (s *repeats) find(key string) (*repeated, bool) {
	r, known := s.calls[key]
	return r, known && key != "" && time.Since(r.at) < repeatTime
}

// add records the outcome of a call.
func (s *repeats) add(key string, out Outcome) {
	if key == "" {
		return
	}
	if s.calls == nil {
		s.calls = make(map[string]*repeated)
	}
	s.calls[key] = &repeated{result: out.Result, at: time.Now()}
}

// repeat returns the outcome of a call that was made before.
func (t *Turn) repeat(call schemas.ToolCall, r *repeated) Outcome {
	tool, _ := t.Lookup(call.Function.Name)
	r.times, r.at = r.times+1, time.Now()
	result := r.result
	text := fmt.Sprintf("%s\n\n(This call was made before in this turn, with the same result; use it, and do not make the call again.)", result.OutputText())
	if r.times >= maxRepeats {
		t.repeats.ended = true
		text = "This call was made before in this turn, more than once, and its result is above; answer with what is known."
	}
	result.ID, result.Media, result.Cut, result.Output = call.ID, nil, nil, schemas.TextOutput(text)
	return Outcome{Call: call, Tool: tool, Result: result, Status: StatusRepeated}
}
