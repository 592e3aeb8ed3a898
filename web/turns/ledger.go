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

// A Ledger is where replicas share turns that run: what they tell, who runs them, and what
// others want of them.
type Ledger interface {
	// Begin notes a turn of this process.
	Begin(ctx context.Context, t schemas.LiveTurn) error
	// Find returns a turn of any process, and whether it is there and the owner's.
	Find(ctx context.Context, owner, id string) (t schemas.LiveTurn, ok bool, err error)
	// Tell writes news of turns of this process. The turns that are still its own are in
	// held, with whether somebody wants them stopped; of the others nothing was written.
	Tell(ctx context.Context, news []schemas.LiveNews) (held map[string]bool, err error)
	// Read returns what turns told after the items of these numbers, and whether there is
	// more to be read at once.
	Read(ctx context.Context, after map[string]int) (told map[string]schemas.LiveTold, more bool, err error)
	// Stop asks the process that runs the turn to stop it.
	Stop(ctx context.Context, id string) error
	// Reap ends turns whose process has been silent for too long, and returns their ids.
	Reap(ctx context.Context) ([]string, error)
	// Wake tells the others that there is news of these turns.
	Wake(ctx context.Context, ids ...string) error
	// Listen hands over what others wake with until it fails or ctx ends. deaf says whether
	// words come through.
	Listen(ctx context.Context, woken func(ids []string), deaf func(bool)) error

	// Ask notes what waits for a person, Settle that it waits no more.
	Ask(ctx context.Context, a schemas.LiveAsk) error
	Settle(ctx context.Context, id string) error
	// Waiting lists what waits for an owner.
	Waiting(ctx context.Context, owner string) ([]schemas.LiveAsk, error)
	// Decide leaves what was said for the process that asked, and reports whether it is the
	// first. Outcome is that process's answer, empty while there is none; Reopen lets it wait
	// on after an answer that was no.
	Decide(ctx context.Context, id, decision string) (bool, error)
	Outcome(ctx context.Context, id string) (string, error)
	Reopen(ctx context.Context, id string) error
	// Decided lists what others said to this process, for Answer.
	Decided(ctx context.Context) ([]schemas.LiveAsk, error)
	Answer(ctx context.Context, id, outcome string) error
}

// ErrLost is told where the process that ran a turn is gone.
var ErrLost = &wire.Error{
	Status: http.StatusServiceUnavailable, Kind: wire.TypeServer, Code: "turn_interrupted", RetryAfter: time.Second,
	Message: "the process that ran this turn is gone",
}

// ErrFollowElsewhere is told to those who follow a turn of another replica here.
var ErrFollowElsewhere = &wire.Error{
	Status: http.StatusServiceUnavailable, Kind: wire.TypeServer, Code: "shutting_down", RetryAfter: time.Second,
	Message: "this replica is shutting down; the turn runs on elsewhere, so follow it again",
}

// rowSize is about how large a row may become, in bytes.
const rowSize = 64 << 10

// An entry is an item in a row. One that is nothing but text is written as a string.
type entry struct {
	Event *answer.Event `json:"event,omitempty"`
	At    time.Duration `json:"at,omitempty"`
	Err   *wire.Error   `json:"error,omitempty"`
}

// rowsOf writes items, the first of which has this number.
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

// itemsOf reads a row.
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
