package eval

import (
	"strings"

	"molar/eval/match"
	"molar/eval/tape"
)

// Observed returns what happened in a turn as expectations, for a person to review.
func Observed(s tape.Turn) Expect {
	e := Expect{Guardrail: s.Guardrail}
	if s.Sum.Error != "" {
		e.Error = s.Sum.Error
	}
	if len(s.Calls) == 0 {
		e.NoCall = true
	} else {
		e.Calls = &Calls{Order: true}
		for _, c := range s.Calls {
			e.Calls.Items = append(e.Calls.Items, ObservedCall(c.Call.Function.Name, c.Call.Function.Arguments))
		}
	}
	if s.Sum.ModelCalls > 0 {
		e.Limits = &Limits{LLMCalls: s.Sum.ModelCalls}
	}
	return e
}

// ObservedCall returns a call that was made as an expected call.
func ObservedCall(name, arguments string) Call {
	call := Call{Name: name}
	v, err := match.Decode([]byte(arguments))
	if args, ok := v.(map[string]any); err == nil && ok {
		call.Args, _ = match.Plain(args).(map[string]any)
		call.NoArgs = len(args) == 0
	}
	return call
}

// ExpectOtherAnswer rejects the answer of a turn, which a person marked as bad, until that
// person writes better expectations.
func ExpectOtherAnswer(s tape.Turn) Expect {
	var e Expect
	if s.Guardrail == "refuse" {
		e.Guardrail = "pass"
	}
	if answer := strings.TrimSpace(s.Answer); answer != "" {
		e.Answer = &Answer{All: []Check{{NotContains: answer}}}
	}
	return e
}
