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

// A Ledger is the store through which replicas share running turns: their events, the process that
// runs each, and requests of other replicas to that process.
type Ledger interface {
	// Begin records a turn of this process.
	Begin(ctx context.Context, t schemas.LiveTurn) error
	// Find returns a turn of any process; ok is false if the owner has no such turn.
	Find(ctx context.Context, owner, id string) (t schemas.LiveTurn, ok bool, err error)
	// Tell writes news of turns of this process. stops has an entry for each turn that is still
	// owned by this process: whether a stop of it was requested. For other turns nothing was
	// written.
	Tell(ctx context.Context, news []schemas.LiveNews) (stops map[string]bool, err error)
	// Read returns the items of turns after these numbers, and whether more can be read
	// immediately.
	Read(ctx context.Context, after map[string]int) (updates map[string]schemas.LiveUpdate, more bool, err error)
	// Stop asks the process that runs the turn to stop it.
	Stop(ctx context.Context, id string) error
	// Reap ends turns whose process was silent for too long, and returns their ids.
	Reap(ctx context.Context) ([]string, error)
	// Wake notifies the other processes of news of these turns.
	Wake(ctx context.Context, ids ...string) error
	// Listen calls woken with the notifications of other processes until it fails or ctx ends.
	// It calls deaf with true when notifications do not arrive, and with false when they do.
	Listen(ctx context.Context, woken func(ids []string), deaf func(bool)) error

	// Ask records a pending approval or question; Settle removes it.
	Ask(ctx context.Context, a schemas.LiveAsk) error
	Settle(ctx context.Context, id string) error
	// Waiting lists an owner's pending approvals and questions.
	Waiting(ctx context.Context, owner string) ([]schemas.LiveAsk, error)
	// Decide stores a decision for the process that asked, and reports whether it is the first.
	// Outcome returns that process's reply, empty until it replies. Reopen makes the approval or
	// question pending again after a rejected decision.
	Decide(ctx context.Context, id, decision string) (bool, error)
	Outcome(ctx context.Context, id string) (string, error)
	Reopen(ctx context.Context, id string) error
	// Decided lists the decisions of other processes for this one, which replies with Answer.
	Decided(ctx context.Context) ([]schemas.LiveAsk, error)
	Answer(ctx context.Context, id, outcome string) error
}

// ErrLost is the error of a turn whose process has died.
var ErrLost = &wire.Error{
	Status: http.StatusServiceUnavailable, Kind: wire.TypeServer, Code: "turn_interrupted", RetryAfter: time.Second,
	Message: "the process that ran this turn is gone",
}

// errFollowElsewhere ends the feeds of turns of other replicas when this process shuts down.
var errFollowElsewhere = &wire.Error{
	Status: http.StatusServiceUnavailable, Kind: wire.TypeServer, Code: "shutting_down", RetryAfter: time.Second,
	Message: "this replica is shutting down; the turn runs on elsewhere, so follow it again",
}

// rowSize is the approximate maximum of a row, in bytes.
const rowSize = 64 << 10

// An entry is an item in a row. An item with text alone is written as a string instead.
type entry struct {
	Event *answer.Event `json:"event,omitempty"`
	At    time.Duration `json:"at,omitempty"`
	Err   *wire.Error   `json:"error,omitempty"`
}

// rowsOf encodes items; first is the number of the first one.
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
