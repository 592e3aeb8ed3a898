package agent_test

import (
	"errors"
	"strings"
	"testing"

	"molar/providers"
	"molar/schemas"
)

// unpaid refuses a call because a budget is used up.
func unpaid() script {
	return func(_ providers.Request, yield func(providers.Chunk, error) bool) {
		yield(providers.Chunk{}, &providers.Error{Kind: providers.KindBudget, Err: errors.New("this month's budget is used up")})
	}
}

// The notice of an emergency is the whole answer if no budget pays for more.
func TestRun_emergency_unpaid(t *testing.T) {
	b := dentalBench(unpaid())
	b.model.judge = unpaid()
	p := b.with(t, dental()).play(t, ask(emergencyEN))
	if p.err != nil || p.done == nil || !p.done.Saved || !strings.HasPrefix(p.text, "**This may be an emergency") || len(b.memory.saved) != 1 || b.memory.saved[0].Status != "" {
		t.Errorf("%q, done %+v, saved %+v, %v", p.text, p.done, b.memory.saved, p.err)
	}
}

// A question whose verdict nobody pays for is not answered.
func TestRun_judgeUnpaid(t *testing.T) {
	b := dentalBench(says("Anything."))
	b.model.judge = unpaid()
	p := b.with(t, dental()).play(t, ask("What is this one about?"))
	if providers.KindOf(p.err) != providers.KindBudget || p.text != "" {
		t.Errorf("%q %v", p.text, p.err)
	}
}

// Calls are charged to the owner of the turn and its assistant.
func TestRun_payer(t *testing.T) {
	b := newBench(says("Hello.")).with(t, schemas.Assistant{})
	turn := ask("Hello")
	turn.Owner = "person:ann"
	if p := b.play(t, turn); p.err != nil {
		t.Fatal(p.err)
	}
	if got := b.model.requests[0].Payer; got.Owner != "person:ann" || got.Assistant == "" {
		t.Errorf("charged to %+v", got)
	}
}
