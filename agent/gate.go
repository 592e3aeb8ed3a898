package agent

import (
	"context"

	"molar/agent/answer"
	"molar/agent/subject"
)

// A RefusedError is the error of a turn whose question did not pass.
type refusedError struct{ Verdict subject.Verdict }

func (*refusedError) Error() string { return "refused by the guardrail" }

// A Gate holds a turn until its verdict: nothing is shown and no tool is executed before
// [Gate.Pass] has returned without an error. Only the folders of this host are looked at meanwhile.
type Gate struct {
	// OnPass is called once, when the verdict is a pass; it may be nil.
	OnPass func(subject.Verdict) error
	// Notice is the emergency notice already shown, Emergency the kind that decides what follows
	// it.
	Notice    string
	Emergency subject.Kind

	verdict *future[subject.Verdict]
	opened  bool
	known   bool
	out     *answer.Speaker
}

// openGate returns the gate of a turn without a topic, or of one that was judged before.
func openGate() *Gate {
	return &Gate{verdict: settled(subject.Verdict{Pass: true}), opened: true}
}

// decided returns the gate of a known verdict.
func decided(v subject.Verdict, out *answer.Speaker) *Gate {
	return &Gate{verdict: settled(v), known: true, out: out}
}

// Known reports whether the verdict is known, so that Pass does not wait.
func (g *Gate) Known() bool { return g.opened || g.known }

// Pass waits for the verdict and fails with a [*RefusedError] when it is not a pass.
func (g *Gate) Pass(ctx context.Context) error {
	if g.opened {
		return nil
	}
	v, err := g.verdict.Wait(ctx)
	if err != nil {
		return err
	}
	g.out.Trace.Verdict(v)
	if !v.Pass {
		g.out.Mark("2.1", "Guardrail result: REJECTED", "by", v.By, "reason", v.Reason)
		return &refusedError{Verdict: v}
	}
	g.opened = true
	g.out.Mark("2.1", "Guardrail result: PASSED", "by", v.By, "reason", v.Reason)
	if g.OnPass == nil {
		return nil
	}
	return g.OnPass(v)
}

// Language passes the gate and returns the language that the judge named, if any.
func (g *Gate) Language(ctx context.Context) (string, error) {
	if err := g.Pass(ctx); err != nil {
		return "", err
	}
	v, err := g.verdict.Wait(ctx)
	return v.Language, err
}
