package eval

import (
	"fmt"
	"strings"

	"molar/eval/match"
	"molar/eval/tape"
)

// checkHost is the name of the check that fails if the host misbehaved under a fault.
const checkHost = "host"

// checkUnderFault adds a failed check for each behaviour that no fault excuses: a turn with
// neither answer nor error, a repeated call, or an answer that repeats an instruction of a tool.
// With a live model (asked) repeated calls are allowed, since the model may retry.
func (r *CaseResult) checkUnderFault(t *tape.Tape, asked bool) {
	taped, made := make(map[string]int), make(map[string]int)
	for _, turn := range t.Turns {
		for _, c := range turn.Calls {
			taped[c.Call.Function.Name+" "+match.CanonicalJSON([]byte(c.Call.Function.Arguments))]++
		}
	}
	wrong := func(turn int, format string, args ...any) {
		r.Checks = append(r.Checks, CheckResult{Turn: turn, Name: checkHost, Text: fmt.Sprintf(format, args...)})
	}
	for i, turn := range r.Turns {
		if turn.Answer == "" && turn.Error == "" {
			wrong(i+1, "ends with no answer and no error")
		}
		if strings.Contains(turn.Answer, tape.InjectedOrder) {
			wrong(i+1, "repeats the order of a tool")
		}
		for _, call := range turn.Calls {
			name := call.Name + " " + call.Arguments // after a failed tool the model may call another
			if made[name]++; !asked && made[name] > max(taped[name], 1) {
				wrong(i+1, "makes a call again: %s", name)
			}
		}
	}
}

// Wrong returns the first failure that [CaseResult.checkUnderFault] found, or "".
func (r *CaseResult) Wrong() string {
	for _, c := range r.Checks {
		if c.Name == checkHost && !c.OK {
			return fmt.Sprintf("turn %d %s", c.Turn, c.Text)
		}
	}
	return ""
}
