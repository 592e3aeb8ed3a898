package agent_test

import (
	"errors"
	"strings"
	"testing"

	"molar/providers"
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

// Calls are charged to the owner of the turn and its assistant, and what is said of a budget is in the
// language of the question.
func TestRun_payer(t *testing.T) {
	for question, language := range map[string]string{"What is this one about?": "en", "Cái này nói về gì vậy bạn?": "vi"} {
		b := dentalBench(says("Hello.")).with(t, dental())
		turn := ask(question)
		turn.Owner = "person:ann"
		if p := b.play(t, turn); p.err != nil {
			t.Fatal(p.err)
		}
		if len(b.model.requests) < 2 {
			t.Errorf("%q: %d calls, want a verdict and an answer", question, len(b.model.requests))
		}
		for _, r := range b.model.requests {
			if got := r.Payer; got.Owner != "person:ann" || got.Assistant == "" || got.Language != language {
				t.Errorf("the %s pass of %q is charged to %+v", r.Pass, question, got)
			}
		}
	}
}
