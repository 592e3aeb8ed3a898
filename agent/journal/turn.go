package journal

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"molar/agent/answer"
	"molar/schemas"
)

var (
	// ErrTaken ends a turn that another process has taken over, as this one was silent for too long.
	ErrTaken = errors.New("the turn was taken over by another process")
	// ErrStop ends a turn that was stopped at another process.
	ErrStop = errors.New("the turn was stopped at another process")
)

// maxPending bounds what a turn holds that could not be written, in bytes: beyond it the rest of the
// turn is not recorded.
const maxPending = 8 << 20

// A Turn is the journal of one turn of this process. A nil Turn records nothing. It is safe for
// concurrent use.
type Turn struct {
	of     *Recorder
	info   schemas.JournalTurn
	cancel func(cause error)

	// writing is held while the turn is written, so that its rows are in order.
	writing sync.Mutex

	mu sync.Mutex
	// items are not written yet; first is the number of the first of them.
	items []Item
	first int
	// rounds are not written yet; said counts all of them.
	rounds []schemas.JournalRound
	said   int
	// sending is the last write of unknown outcome: it is repeated as it was.
	sending schemas.JournalNews
	size    int
	// recorded is set once the store has the turn, left once another process is to continue it.
	recorded, ended, dropped, left bool
}

// Add appends an event.
func (t *Turn) Add(ev answer.Event, at time.Duration) { t.add(itemOf(ev, at)) }

// Fail appends the failure that ended the turn, as JSON.
func (t *Turn) Fail(failure json.RawMessage, at time.Duration) { t.add(Item{Failure: failure, At: at}) }

func (t *Turn) add(it Item) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropped || t.left {
		return
	}
	t.items = append(t.items, it)
	if it.Event != nil && it.Event.Start != nil {
		t.info.Assistant, t.info.ConversationID = it.Event.Start.Assistant, it.Event.Start.ConversationID
	}
	t.grow(sizeOf(it))
	if t.recorded {
		t.of.nudge(t.info.Shared, t.size)
	}
}

// grow counts what is pending. The caller holds mu.
func (t *Turn) grow(size int) {
	if t.size += size; t.size > maxPending {
		t.dropped, t.items, t.rounds = true, nil, nil
		t.of.log.Warn("the journal of a turn could not be written for too long; the rest of the turn is not recorded", "turn", t.info.ID)
	}
}

// sizeOf returns about how many bytes an item takes.
func sizeOf(it Item) int {
	size := len(it.Text) + len(it.Failure)
	if it.Event == nil {
		return size
	}
	size += len(it.Event.Text)
	if it.Event.Call != nil {
		size += len(it.Event.Call.Function.Arguments)
	}
	if it.Event.Result != nil {
		size += len(it.Event.Result.Output)
	}
	return size
}

// Said records what the model said in a round with calls.
func (t *Turn) Said(m schemas.Message) {
	if t == nil {
		return
	}
	t.round(Round{Said: &m})
}

// Sent records that a call that may have an effect is about to be sent.
func (t *Turn) Sent(callID string) {
	if t != nil {
		t.round(Round{Sent: callID})
	}
}

// A Round is what the model said in a round with calls, or the id of a call of it that was sent.
type Round struct {
	Said *schemas.Message `json:"said,omitempty"`
	Sent string           `json:"sent,omitempty"`
}

func (t *Turn) round(r Round) {
	body, err := json.Marshal(r)
	if err != nil { // it always marshals
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.dropped && !t.left {
		t.said++
		t.rounds = append(t.rounds, schemas.JournalRound{N: t.said, Body: string(body)})
		t.grow(len(body))
	}
}

// HandOver lets another process continue the turn, if it may go on: nothing is added to it any more,
// and its end leaves it as it is. It reports whether the turn is handed over.
func (t *Turn) HandOver() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = t.left || t.recorded && t.info.GoesOn && !t.ended && !t.dropped
	return t.left
}

// IsHandedOver reports whether another process is to continue the turn.
func (t *Turn) IsHandedOver() bool { return t != nil && t.isLeft() }

func (t *Turn) isLeft() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left
}

// Begin records the turn with its state, and whether another process may continue it. It returns once
// that survives the end of this process.
func (t *Turn) Begin(ctx context.Context, state json.RawMessage, goesOn bool) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	info := t.info
	t.mu.Unlock()
	info.State, info.GoesOn = state, goesOn
	if err := t.of.store.Begin(ctx, info); err != nil {
		return err
	}
	t.mu.Lock()
	t.info.State, t.info.GoesOn, t.recorded = state, goesOn, true
	t.mu.Unlock()
	t.of.register(t)
	return nil
}

// Sync writes what was added so far to the disk, such as a call that is about to be sent. It does
// nothing if the turn has not begun.
func (t *Turn) Sync(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	recorded := t.recorded
	t.mu.Unlock()
	if !recorded {
		return nil
	}
	return t.of.write(ctx, true, []*Turn{t})
}

// End ends the journal. What was shared can be read for a while; any other journal is deleted, as the
// turn is saved or is not to be kept.
func (t *Turn) End() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.ended = true
	recorded := t.recorded
	t.mu.Unlock()
	if recorded {
		t.of.nudge(t.info.Shared, 0)
	}
}

// isShared reports whether others follow the turn.
func (t *Turn) isShared() bool { return t.info.Shared }

// news returns what is to be written. The caller holds writing, and calls wrote afterwards.
func (t *Turn) news() (n schemas.JournalNews, some bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n = t.sending
	n.TurnID, n.ConversationID, n.Ended = t.info.ID, t.info.ConversationID, t.ended && !t.left
	rows, err := Encode(t.items, t.first+1)
	if err != nil { // an event always marshals; followers notice the gap
		t.of.log.Error("an event of a turn cannot be recorded", "turn", t.info.ID, "error", err)
	}
	n.Rows, n.Rounds = append(n.Rows, rows...), append(n.Rounds, t.rounds...)
	t.first += len(t.items)
	t.items, t.rounds = nil, nil
	t.sending = schemas.JournalNews{Rows: n.Rows, Rounds: n.Rounds}
	return n, len(n.Rows)+len(n.Rounds) > 0 || n.Ended
}

// wrote records the outcome of a write: whether the turn still belongs to this process, whether a stop
// was requested, and whether its journal was erased.
func (t *Turn) wrote(held, stop, erased bool) {
	t.mu.Lock()
	t.sending, t.size = schemas.JournalNews{}, 0
	for _, it := range t.items {
		t.size += sizeOf(it)
	}
	ended := t.ended
	if !held {
		t.dropped = true
	}
	t.mu.Unlock()
	switch {
	case erased:
	case !held && !ended:
		t.of.log.Warn("a turn was taken over by another process, as this one was silent for too long", "turn", t.info.ID)
		t.cancel(ErrTaken)
	case stop:
		t.cancel(ErrStop)
	}
}
