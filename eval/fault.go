package eval

import (
	"fmt"
	"strings"

	"molar/eval/match"
	"molar/eval/tape"
)

// checkHost is the name of the check that fails where a fault made the host do what no fault
// excuses.
const checkHost = "host"

// underFault looks for what no fault excuses: a turn without an answer and without an error,
// a call that was made again, an order of a tool that reached the person. Calls are not
// counted where a model was asked anew, since it may try again.
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
			name := call.Name + " " + call.Arguments // where one tool failed another may be asked
			if made[name]++; !asked && made[name] > max(taped[name], 1) {
				wrong(i+1, "makes a call again: %s", name)
			}
		}
	}
}

// Wrong tells what the host did that no fault excuses, or "".
func (r *CaseResult) Wrong() string {
	for _, c := range r.Checks {
		if c.Name == checkHost && !c.OK {
			return fmt.Sprintf("turn %d %s", c.Turn, c.Text)
		}
	}
	return ""
}
