package eval

import (
	"molar/eval/match"
	"molar/eval/tape"
)

// Observed writes what happened in a turn as expectations, for a person to look at.
func Observed(s tape.Seen) Expect {
	e := Expect{Guardrail: s.Guardrail}
	if s.Sum.Error != "" {
		e.Error = s.Sum.Error
	}
	if len(s.Calls) == 0 {
		e.NoCall = true
	} else {
		e.Calls = &Calls{Mode: string(match.ModeExact)}
		for _, c := range s.Calls {
			e.Calls.Items = append(e.Calls.Items, observedCall(c))
		}
	}
	if s.Sum.ModelCalls > 0 {
		e.Limits = &Limits{LLMCalls: s.Sum.ModelCalls}
	}
	return e
}

func observedCall(c tape.SeenCall) Call {
	call := Call{Name: c.Call.Function.Name}
	v, err := match.Decode([]byte(c.Call.Function.Arguments))
	if args, ok := v.(map[string]any); err == nil && ok {
		call.Args, _ = match.Plain(args).(map[string]any)
		call.NoArgs = len(args) == 0
	}
	return call
}
