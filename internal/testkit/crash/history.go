package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"time"
)

// A writer is a client with a conversation of its own, in which it saves one turn
// after the other, and remembers what it was promised.
type writer struct {
	conversation string
	seed         uint64
	chance       *rand.Rand
	// troubled means that the child may fail for a while.
	troubled bool
	// turns are the promises, in order.
	turns []*turn

	saved, unsure int
	faults        []string
}

type turn struct {
	key, id string
	lease   json.RawMessage
	state   state
	// recorded: reported recorded. Its question must be there, with its answer or as
	// interrupted.
	recorded bool
}

// state is what the client knows of a turn.
type state int

const (
	// open: sent, not answered.
	open state = iota
	// promised: reported saved. It must be there once, for ever.
	promised
	// abandoned: not answered, and not asked for again. It may be there once, whole,
	// or not at all.
	abandoned
)

// A session is a running child as its clients see it. Its calls fail with errGone once
// the child is gone.
type session interface {
	// begin opens a turn; one that turns out to be done already becomes promised.
	begin(ctx context.Context, conversation string, t *turn) error
	// record has the question recorded, and says so in the turn when that was reported. Its
	// errors are those of finish.
	record(ctx context.Context, conversation string, t *turn) error
	// finish returns when the turn was reported done, and with errConflict when it is
	// not to be done any more.
	finish(ctx context.Context, conversation string, t *turn) error
	// messages reads the conversation back.
	messages(ctx context.Context, conversation string) ([]message, error)
	// end kills the child and waits until it is gone.
	end(kill func(*exec.Cmd) error) error
}

// save begins and saves turns until the child is gone.
func (w *writer) save(ctx context.Context, s session, saved func()) error {
	for {
		t := &turn{key: fmt.Sprintf("%s-key-%d", w.conversation, len(w.turns)), id: fmt.Sprintf("%s-turn-%d", w.conversation, len(w.turns))}
		w.turns = append(w.turns, t)
		if err := w.finish(ctx, s, t); err != nil {
			return err
		}
		saved()
	}
}

// finish does a turn as a client does that does not give up: each step is asked for again
// while there is trouble, and all of them when the lease is lost.
func (w *writer) finish(ctx context.Context, s session, t *turn) error {
	for {
		err := w.persist(ctx, func() error { return s.begin(ctx, w.conversation, t) })
		if err == nil && t.state != promised {
			err = w.persist(ctx, func() error { return s.record(ctx, w.conversation, t) })
		}
		if err == nil && t.state != promised {
			err = w.complete(ctx, s, t)
		}
		if !errors.Is(err, errConflict) {
			return err
		}
	}
}

// complete saves the turn under the lease that it has.
func (w *writer) complete(ctx context.Context, s session, t *turn) error {
	if err := w.persist(ctx, func() error { return s.finish(ctx, w.conversation, t) }); err != nil {
		return err
	}
	t.state = promised
	w.saved++
	return nil
}

// persist asks again for as long as the child says that it cannot right now.
func (w *writer) persist(ctx context.Context, step func() error) error {
	const pause, tries = 10 * time.Millisecond, 3000
	for range tries {
		err := step()
		busy, trouble := errors.Is(err, errBusy), errors.Is(err, errTrouble)
		if !busy && (!trouble || !w.troubled) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return step()
}

// settle does what a client does about the turn whose answer it never got: it saves
// it again, or asks by its key whether it is there, or goes away.
func (w *writer) settle(ctx context.Context, s session) error {
	if w.chance == nil {
		w.chance = rand.New(rand.NewPCG(w.seed, 0))
	}
	if len(w.turns) == 0 || w.turns[len(w.turns)-1].state != open {
		return nil
	}
	t := w.turns[len(w.turns)-1]
	w.unsure++
	again, byKey := 0, 1
	switch w.chance.IntN(3) {
	case again:
		if t.lease != nil {
			if err := w.complete(ctx, s, t); !errors.Is(err, errConflict) {
				return err
			}
		}
		// A lease may be lost with the power; the key remains.
		fallthrough
	case byKey:
		return w.finish(ctx, s, t)
	}
	t.state = abandoned
	return nil
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Status  string `json:"status,omitempty"`
}

// check reads the conversation back and compares.
func (w *writer) check(ctx context.Context, s session) error {
	messages, err := s.messages(ctx, w.conversation)
	if err != nil {
		return err
	}
	w.judge(messages)
	return nil
}

// judge walks through promises and messages side by side.
func (w *writer) judge(messages []message) {
	for _, t := range w.turns {
		ask, say := message{Role: "user", Content: "ask " + t.id}, message{Role: "assistant", Content: "say " + t.id}
		whole, begun := false, false
		if len(messages) >= 2 && messages[0] == ask {
			whole, begun = messages[1] == say, messages[1].Role == say.Role && messages[1].Status != ""
		}
		if whole || begun {
			messages = messages[2:]
		}
		switch {
		case whole && t.state == abandoned:
			t.state = promised // read once, it must stay
		case begun && t.state == abandoned:
			t.recorded = true
		case t.state == promised && !whole:
			w.fault("%s was reported saved and is missing", t.id)
		case t.recorded && !whole && !begun:
			w.fault("the question of %s was reported recorded and is missing", t.id)
		}
	}
	for _, m := range messages {
		w.fault("%s: %s %q is there twice, half, or out of place", w.conversation, m.Role, m.Content)
	}
}

// forgetRecords lets the questions be missing that were recorded and not saved.
func (w *writer) forgetRecords() {
	for _, t := range w.turns {
		t.recorded = false
	}
}

func (w *writer) fault(format string, args ...any) {
	const most = 5 // a broken store breaks every promise
	if len(w.faults) < most {
		w.faults = append(w.faults, fmt.Sprintf(format, args...))
	}
}
