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

// A writer is a client with its own conversation, in which it saves one turn after the other, and
// records what was promised.
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
	// recorded: a part of its answer was read. The question must be there, with its answer or as
	// interrupted.
	recorded bool
}

// state is the client's knowledge of a turn.
type state int

const (
	// open: sent, not answered.
	open state = iota
	// promised: reported saved. The turn must be there once, for ever.
	promised
	// abandoned: not answered, and not requested again. The turn may be there once, whole, or not
	// at all.
	abandoned
)

// A session is a running child as its clients see it. Its methods return errGone once the child
// has ended.
type session interface {
	// begin opens a turn; a turn that is already saved becomes promised.
	begin(ctx context.Context, conversation string, t *turn) error
	// finish returns once the turn is reported done, and returns errConflict if it can no longer
	// be saved. It marks the turn as recorded once it has read a part of its answer.
	finish(ctx context.Context, conversation string, t *turn) error
	// messages reads the conversation back.
	messages(ctx context.Context, conversation string) ([]message, error)
	// end kills the child and waits until it has ended.
	end(kill func(*exec.Cmd) error) error
}

// save begins and saves turns until the child has ended.
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

// finish saves a turn like a client that does not give up: it repeats each step while there is
// trouble, and all steps if the lease is lost.
func (w *writer) finish(ctx context.Context, s session, t *turn) error {
	for {
		err := w.persist(ctx, func() error { return s.begin(ctx, w.conversation, t) })
		if err == nil && t.state != promised {
			err = w.complete(ctx, s, t)
		}
		if !errors.Is(err, errConflict) {
			return err
		}
	}
}

// complete saves the turn under its current lease.
func (w *writer) complete(ctx context.Context, s session, t *turn) error {
	if err := w.persist(ctx, func() error { return s.finish(ctx, w.conversation, t) }); err != nil {
		return err
	}
	t.state = promised
	w.saved++
	return nil
}

// persist repeats a step while the child reports that it temporarily cannot answer.
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

// settle acts like a client whose turn got no answer: it saves the turn again, or begins it again
// with its key, or gives up.
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
		// The lease may be lost with the power; the key is still valid.
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

// judge compares the promises with the messages, in order.
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
			w.fault("a part of the answer to %s was shown and its question is missing", t.id)
		}
	}
	for _, m := range messages {
		w.fault("%s: %s %q is there twice, half, or out of place", w.conversation, m.Role, m.Content)
	}
}

// forgetRecords allows recorded questions that were not saved to be missing.
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
