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
	// Number counts the items of a turn that is logged, from 1.
	Number int
	// At is how long after its begin the turn said it; zero for text, and when told again
	// from a store.
	At time.Duration
}

// A Feed is what one request is told of a turn. Whoever makes it calls End.
type Feed struct {
	// Run hands the items over, one after the other, until send says false or the turn
	// has ended. The reader's pace is that of a turn of its own.
	Run func(send func(Item) bool)
	// Beside takes an event of those who wait within the turn; nil before it runs.
	Beside func(answer.Event)
	// Stop ends the feed, and the turn if it is its own; Cause then says why.
	Stop  context.CancelFunc
	Cause func() error
	// End is Stop, and what else the end of the request brings with it.
	End func()
}

// newFeed returns a feed and the context of its life, which Stop ends.
func newFeed(ctx context.Context) (*Feed, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	return &Feed{Stop: cancel, End: cancel, Cause: func() error { return context.Cause(ctx) }}, ctx
}

// Each runs the feed to its end, in a goroutine of its own: on top of the handler's
// frames and the router's, those of a turn would need a stack of twice the size for as
// long as the answer takes. A panic of take is the handler's.
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

// pump runs a turn and hands its items to send until that says false.
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
