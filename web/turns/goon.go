package turns

import (
	"context"
	"encoding/json"
	"fmt"

	"molar/agent"
	"molar/agent/answer"
	"molar/agent/journal"
	"molar/schemas"
)

// A note is what a continuation of a turn needs to know of its request.
type note struct {
	Hash string `json:"hash,omitempty"`
	// Asks and Answers are as in [Request].
	Asks    bool `json:"asks,omitempty"`
	Answers bool `json:"answers,omitempty"`
}

// let lets a turn ask its client, by events, as the note says.
func (h *Host) let(t *Live, turn *agent.Turn, n note) {
	if !n.Asks {
		return
	}
	send := func(ev answer.Event) { t.add(Item{Event: ev}) }
	news := func(ev answer.Event) {
		if !t.Log.mustWait() {
			send(ev)
		}
	}
	who := asker{h, t, turn.Owner, turn.ID, schemas.DeciderOf(turn.Owner, turn.Caller.Name, turn.Rights), send, news, h.Sharing}
	turn.Approver = who
	if n.Answers {
		turn.Person = who
	}
}

// GoOn continues a turn that this process has taken over, as its own is gone. Followers here and
// elsewhere see it continue.
func (h *Host) GoOn(ctx context.Context, r schemas.JournalRecord) error {
	turn, err := agent.Continued(r)
	if err != nil {
		return err
	}
	var n note
	if err := json.Unmarshal(turn.Note, &n); err != nil {
		return fmt.Errorf("%w: %w", agent.ErrNotContinued, err)
	}
	if h.May != nil {
		if err := h.May(ctx, &turn); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t := h.newLive(turn, cancel)
	t.began, t.key, t.hash, t.Log = r.Began, turn.Key, n.Hash, NewLog(sizeOf)
	for _, row := range r.Rows {
		items, err := itemsOf(row)
		if err != nil {
			cancel(nil)
			return fmt.Errorf("%w: %w", agent.ErrNotContinued, err)
		}
		for _, it := range items {
			t.add(it) // it has no journal yet
		}
	}
	h.let(t, &turn, n)
	t.goesOn = true
	_, _, err = h.start(ctx, t, turn, func() (*journal.Turn, error) { return h.Journal.Resume(r, t.endElsewhere), nil })
	if err != nil { // this process shuts down
		cancel(nil)
		return fmt.Errorf("%w: %w", journal.ErrLater, err)
	}
	if h.OnContinued != nil {
		h.OnContinued(t)
	}
	return nil
}
