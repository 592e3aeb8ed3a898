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
	// Number counts the items of a logged turn, from 1.
	Number int
	// At is the time of the event after the turn's begin; zero for text, and for items read
	// from a store.
	At time.Duration
}

// A Feed is what one request reads of a turn. Its owner calls End.
type Feed struct {
	// Run passes the items to send, one after the other, until send returns false or the turn
	// has ended. If the turn is the feed's own, a slow reader slows it down.
	Run func(send func(Item) bool)
	// OnSideEvent receives approval and question events; nil before it runs.
	OnSideEvent func(answer.Event)
	// Stop ends the feed, and the turn if it is the feed's own; Cause then returns why.
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

// Each runs the feed to its end in a goroutine: on top of the frames of handler and router,
// those of a turn would need a stack of twice the size for as long as the answer takes. A
// panic of take is raised in the handler.
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
