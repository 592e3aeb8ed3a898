package turns

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"molar/agent"
	"molar/agent/answer"
)

// An Item is an event of a turn, or the error that ended it.
type Item struct {
	Event answer.Event
	Err   error
	// Number is the id of the item of a logged turn: they count from 1, and are larger in each
	// continuation.
	Number int
	// At is the time of the event since the beginning of the turn; zero for text, and for items
	// read from a store.
	At time.Duration
}

// A Feed delivers the items of a turn to one request. Its owner calls End.
type Feed struct {
	// Run passes the items to send, one after the other, until send returns false or the turn
	// has ended. If the turn is not detached, a slow reader slows it down.
	Run func(send func(Item) bool)
	// OnSideEvent receives approval and question events; nil before it runs.
	OnSideEvent func(answer.Event)
	// Stop ends the feed, and the turn unless it is detached; Cause then returns why.
	Stop  context.CancelFunc
	Cause func() error
	// End stops the feed and releases what belongs to the request.
	End func()
}

// newFeed returns a feed and its context, which Stop ends.
func newFeed(ctx context.Context) (*Feed, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	return &Feed{Stop: cancel, End: cancel, Cause: func() error { return context.Cause(ctx) }}, ctx
}

// Each runs the feed in a goroutine and waits for its end. On the handler's own goroutine, the
// frames of the handler and the router together with those of the turn would need a stack of
// twice the size while the turn runs. Each repeats a panic of take on the caller's goroutine.
func (f *Feed) Each(take func(Item) bool) {
	var caught any
	var turn sync.WaitGroup
	turn.Go(func() {
		f.Run(func(it Item) (more bool) {
			defer func() {
				if p := recover(); p != nil {
					caught, more = p, false
				}
			}()
			return take(it)
		})
	})
	turn.Wait()
	if caught != nil {
		panic(caught)
	}
}

// pump runs a turn and passes its items to send until that returns false.
func pump(ctx context.Context, run Runner, t agent.Turn, log *slog.Logger, send func(Item) bool) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("turn panicked", "turn_id", t.ID, "panic", p, "stack", string(debug.Stack()))
			send(Item{Err: fmt.Errorf("turn panicked: %v", p)})
		}
	}()
	for ev, err := range run.Run(ctx, t) {
		if !send(Item{Event: ev, Err: err}) {
			return
		}
	}
}
