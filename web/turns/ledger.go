package turns

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"molar/agent/journal"
	"molar/schemas"
	"molar/web/wire"
)

// A Ledger is the store in which replicas read each other's turns, and leave requests to the process
// that runs one.
type Ledger interface {
	// Find returns a turn of any process; ok is false if the owner has no such turn.
	Find(ctx context.Context, owner, id string) (t schemas.JournalTurn, ok bool, err error)
	// Read returns the items of turns after these numbers, and whether more can be read
	// immediately.
	Read(ctx context.Context, after map[string]int) (updates map[string]schemas.JournalUpdate, more bool, err error)
	// Stop asks the process that runs the turn to stop it.
	Stop(ctx context.Context, id string) error
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
	// ForApprovers lists the pending approvals of all owners that somebody else may decide about.
	ForApprovers(ctx context.Context) ([]schemas.LiveAsk, error)
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

// errFollowElsewhere ends the feeds of turns of other replicas when this process shuts down, and of
// turns that go on in another process.
var errFollowElsewhere = &wire.Error{
	Status: http.StatusServiceUnavailable, Kind: wire.TypeServer, Code: "shutting_down", RetryAfter: time.Second,
	Message: "this process is shutting down; the turn runs on in another one, so follow it again",
}

// failureOf returns the failure of an item as it is recorded.
func failureOf(err error) json.RawMessage {
	b, _ := json.Marshal(wire.Failure(err)) // strings and numbers
	return b
}

// itemsOf decodes a row.
func itemsOf(r schemas.JournalRow) ([]Item, error) {
	recorded, err := journal.Decode(r)
	items := make([]Item, len(recorded))
	for i, it := range recorded {
		items[i] = Item{Event: it.Read(), At: it.At}
		if it.Failure != nil {
			e := &wire.Error{}
			if err := json.Unmarshal(it.Failure, e); err != nil {
				return nil, err
			}
			items[i].Err = e
		}
	}
	return items, err
}
