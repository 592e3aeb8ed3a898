package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
)

// A writer is a client with a conversation of its own, in which it saves one turn
// after the other, and remembers what it was promised.
type writer struct {
	conversation string
	seed         uint64
	chance       *rand.Rand
	// turns are the promises, in order.
	turns []*turn

	saved, unsure int
	faults        []string
}

type turn struct {
	key, id string
	lease   json.RawMessage
	state   state
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
		if err := s.begin(ctx, w.conversation, t); err != nil {
			return err
		}
		w.turns = append(w.turns, t)
		if err := w.finish(ctx, s, t); err != nil {
			return err
		}
		saved()
	}
}

func (w *writer) finish(ctx context.Context, s session, t *turn) error {
	if err := s.finish(ctx, w.conversation, t); err != nil {
		return err
	}
	t.state = promised
	w.saved++
	return nil
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
		if err := w.finish(ctx, s, t); !errors.Is(err, errConflict) {
			return err
		}
		// A lease may be lost with the power; the key remains.
		fallthrough
	case byKey:
		if err := s.begin(ctx, w.conversation, t); err != nil || t.state == promised {
			return err
		}
		return w.finish(ctx, s, t)
	}
	t.state = abandoned
	return nil
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
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
		want := []message{{"user", "ask " + t.id}, {"assistant", "say " + t.id}}
		there := len(messages) >= len(want) && messages[0] == want[0] && messages[1] == want[1]
		switch {
		case there:
			messages = messages[len(want):]
			if t.state == abandoned {
				t.state = promised // read once, it must stay
			}
		case t.state == promised:
			w.fault("%s was reported saved and is missing", t.id)
		}
	}
	for _, m := range messages {
		w.fault("%s: %s %q is there twice, half, or out of place", w.conversation, m.Role, m.Content)
	}
}

func (w *writer) fault(format string, args ...any) {
	const most = 5 // a broken store breaks every promise
	if len(w.faults) < most {
		w.faults = append(w.faults, fmt.Sprintf(format, args...))
	}
}
