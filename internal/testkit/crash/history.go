package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
)

// codeConflict is the server's answer to a lease that does not count any more.
const codeConflict = -32003

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

type leased struct {
	Lease    json.RawMessage `json:"lease"`
	Finished *struct {
		TurnID string `json:"turn_id"`
	} `json:"finished"`
}

// save begins and saves turns until the child is gone.
func (w *writer) save(ctx context.Context, c *client, saved func()) error {
	for {
		t := &turn{key: fmt.Sprintf("key-%d", len(w.turns)), id: fmt.Sprintf("%s-turn-%d", w.conversation, len(w.turns))}
		if err := w.begin(ctx, c, t); err != nil {
			return err
		}
		w.turns = append(w.turns, t)
		if err := w.finish(ctx, c, t); err != nil {
			return err
		}
		saved()
	}
}

func (w *writer) begin(ctx context.Context, c *client, t *turn) error {
	var l leased
	err := c.call(ctx, "memory/begin_turn", map[string]any{"conversation_id": w.conversation, "key": t.key}, &l)
	if err != nil {
		return err
	}
	t.lease = l.Lease
	if l.Finished != nil {
		t.state = promised // a promise too: the client is given the answer
	}
	return nil
}

func (w *writer) finish(ctx context.Context, c *client, t *turn) error {
	var s struct {
		TurnID string `json:"turn_id"`
	}
	err := c.call(ctx, "memory/save_turn", map[string]any{
		"lease": t.lease, "turn_id": t.id, "key": t.key, "user": "ask " + t.id, "answer": "say " + t.id,
	}, &s)
	if err != nil {
		return err
	}
	t.state = promised
	w.saved++
	return nil
}

// settle does what a client does about the turn whose answer it never got: it saves
// it again, or asks by its key whether it is there, or goes away.
func (w *writer) settle(ctx context.Context, c *client) error {
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
		err := w.finish(ctx, c, t)
		refused, is := errors.AsType[*rpcError](err)
		if !is || refused.Code != codeConflict {
			return err
		}
		// A lease may be lost with the power; the key remains.
		fallthrough
	case byKey:
		if err := w.begin(ctx, c, t); err != nil || t.state == promised {
			return err
		}
		return w.finish(ctx, c, t)
	}
	t.state = abandoned
	return nil
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// check reads the conversation back and compares.
func (w *writer) check(ctx context.Context, c *client) error {
	var got struct {
		Messages []message `json:"messages"`
	}
	err := c.call(ctx, "memory/get_all_messages", map[string]any{"conversation_id": w.conversation}, &got)
	if err != nil {
		return err
	}
	w.judge(got.Messages)
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
