package agent_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
)

// askNew asks in a new conversation that the turn names.
func askNew(text string) agent.Turn {
	turn := ask(text)
	turn.ConversationID = ""
	return turn
}

// A new conversation has nothing to read: the model is called at once, and only the save waits
// for the lease.
func TestRun_newConversationDoesNotWait(t *testing.T) {
	b := newBench().with(t, schemas.Assistant{})
	b.memory.begins = make(chan struct{})
	b.memory.opening.Lease = schemas.Lease{Token: "mine"}
	b.model.scripts = []script{func(req providers.Request, yield func(providers.Chunk, error) bool) {
		close(b.memory.begins) // a turn that waits for the lease first would block, and end without it
		says("answer")(req, yield)
	}}
	p := b.play(t, askNew("hello"))
	if p.err != nil || p.text != "answer" || !p.done.Saved || len(p.done.Warnings) != 0 {
		t.Fatalf("%q %v %+v", p.text, p.err, p.done)
	}
	if got := b.memory.saved[0].Lease.Token; got != "mine" {
		t.Errorf("saved under the lease %q", got)
	}
}

func TestRun_newConversationMemoryDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(says("answer")).with(t, schemas.Assistant{})
		b.memory.beginErr = errors.New("connection refused")
		p := b.play(t, askNew("hello"))
		if p.err != nil || p.text != "answer" || p.done.Saved || !p.done.Unsaved || len(p.done.Warnings) != 1 || len(b.memory.saved) != 0 {
			t.Errorf("%q %v %+v", p.text, p.err, p.done)
		}
	})
}

// If a client leaves before the lease is granted, the answer is still stored. Its text waited for the
// store as long as a turn does.
func TestRun_newConversationInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(says("one ", "two")).with(t, schemas.Assistant{})
		b.memory.begins = make(chan struct{})
		b.memory.opening.Lease = schemas.Lease{Token: "mine"}
		began := time.Now()
		for e, err := range b.agent.Run(t.Context(), askNew("hello")) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == answer.KindText {
				close(b.memory.begins)
				break
			}
		}
		if waited := time.Since(began); waited != 2*time.Second {
			t.Errorf("the text waited for %v", waited)
		}
		if len(b.memory.saved) != 1 {
			t.Fatalf("%d turns saved", len(b.memory.saved))
		}
		if rec := b.memory.saved[0]; rec.Status != schemas.StatusInterrupted || rec.Answer != "one " || rec.Lease.Token != "mine" {
			t.Errorf("saved %+v", rec)
		}
	})
}
