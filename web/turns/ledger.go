package turns

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"molar/agent/answer"
	"molar/schemas"
	"molar/web/wire"
)

// A Ledger is where replicas share running turns: their events, who runs them, and requests to
// them from other replicas.
type Ledger interface {
	// Begin records a turn of this process.
	Begin(ctx context.Context, t schemas.LiveTurn) error
	// Find returns a turn of any process; ok is false if the owner has no such turn.
	Find(ctx context.Context, owner, id string) (t schemas.LiveTurn, ok bool, err error)
	// Tell writes news of turns of this process. held has the turns that are still its own,
	// and whether a stop was requested; nothing was written of the others.
	Tell(ctx context.Context, news []schemas.LiveNews) (held map[string]bool, err error)
	// Read returns the items of turns after these numbers, and whether there are more to read
	// at once.
	Read(ctx context.Context, after map[string]int) (told map[string]schemas.LiveUpdate, more bool, err error)
	// Stop asks the process that runs the turn to stop it.
	Stop(ctx context.Context, id string) error
	// Reap ends turns whose process was silent for too long, and returns their ids.
	Reap(ctx context.Context) ([]string, error)
	// Wake notifies the others of news of these turns.
	Wake(ctx context.Context, ids ...string) error
	// Listen passes on the notifications of others until it fails or ctx ends. deaf receives
	// whether notifications fail to arrive.
	Listen(ctx context.Context, woken func(ids []string), deaf func(bool)) error

	// Ask records a pending approval or question, Settle that it is no longer pending.
	Ask(ctx context.Context, a schemas.LiveAsk) error
	Settle(ctx context.Context, id string) error
	// Waiting lists an owner's pending approvals and questions.
	Waiting(ctx context.Context, owner string) ([]schemas.LiveAsk, error)
	// Decide stores a decision for the process that asked, and reports whether it is the
	// first. Outcome is that process's reply, empty until it replies; Reopen makes it pending
	// again after a rejected decision.
	Decide(ctx context.Context, id, decision string) (bool, error)
	Outcome(ctx context.Context, id string) (string, error)
	Reopen(ctx context.Context, id string) error
	// Decided lists the decisions of others for this process, to be replied to with Answer.
	Decided(ctx context.Context) ([]schemas.LiveAsk, error)
	Answer(ctx context.Context, id, outcome string) error
}

// ErrLost is the error of a turn whose process has died.
var ErrLost = &wire.Error{
	Status: http.StatusServiceUnavailable, Kind: wire.TypeServer, Code: "turn_interrupted", RetryAfter: time.Second,
	Message: "the process that ran this turn is gone",
}

// errFollowElsewhere ends the feeds here of turns of other replicas.
var errFollowElsewhere = &wire.Error{
	Status: http.StatusServiceUnavailable, Kind: wire.TypeServer, Code: "shutting_down", RetryAfter: time.Second,
	Message: "this replica is shutting down; the turn runs on elsewhere, so follow it again",
}

// rowSize is the approximate maximum of a row, in bytes.
const rowSize = 64 << 10

// An entry is an item in a row. Plain text is written as a string.
type entry struct {
	Event *answer.Event `json:"event,omitempty"`
	At    time.Duration `json:"at,omitempty"`
	Err   *wire.Error   `json:"error,omitempty"`
}

// rowsOf encodes items, the first of which has the number first.
func rowsOf(items []Item, first int) ([]schemas.LiveRow, error) {
	var rows []schemas.LiveRow
	begin, body := first, []byte(nil)
	for i, it := range items {
		b, err := encodeItem(it)
		if err != nil {
			return nil, err
		}
		body = append(append(body, ','), b...)
		if n := first + i; len(body) >= rowSize || i == len(items)-1 {
			body[0] = '['
			rows = append(rows, schemas.LiveRow{First: begin, Last: n, Body: string(append(body, ']'))})
			begin, body = n+1, nil
		}
	}
	return rows, nil
}

func encodeItem(it Item) ([]byte, error) {
	if it.Err != nil {
		return json.Marshal(entry{At: it.At, Err: wire.Failure(it.Err)})
	}
	if it.Event.Kind == answer.KindText && it.At == 0 && !it.Event.Unsaved {
		return json.Marshal(it.Event.Text)
	}
	return json.Marshal(entry{Event: &it.Event, At: it.At})
}

// itemsOf decodes a row.
func itemsOf(r schemas.LiveRow) ([]Item, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(r.Body), &raw); err != nil {
		return nil, err
	}
	items := make([]Item, len(raw))
	for i, b := range raw {
		if b[0] == '"' {
			items[i].Event.Kind = answer.KindText
			if err := json.Unmarshal(b, &items[i].Event.Text); err != nil {
				return nil, err
			}
			continue
		}
		var e entry
		if err := json.Unmarshal(b, &e); err != nil {
			return nil, err
		}
		items[i].At = e.At
		switch {
		case e.Err != nil:
			items[i].Err = e.Err
		case e.Event != nil:
			items[i].Event = *e.Event
		default:
			return nil, errors.New("an item of a turn that is neither event nor error")
		}
	}
	return items, nil
}
