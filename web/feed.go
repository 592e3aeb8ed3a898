package web

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"molar/agent"
)

// An item is an event of a turn, or the error that ended it.
type item struct {
	event agent.Event
	err   error
	// number counts the items of a turn that is logged, from 1.
	number int
	// at is how long after its begin the turn said it; zero for text, and when told again
	// from a store.
	at time.Duration
}

// A feed is what one request is told of a turn. Whoever makes it calls end.
type feed struct {
	// run hands the items over, one after the other, until send says false or the turn
	// has ended. The reader's pace is that of a turn of its own.
	run func(send func(item) bool)
	// beside takes an event of those who wait within the turn; nil before it runs.
	beside func(agent.Event)
	// stop ends the feed, and the turn if it is its own; cause then says why.
	stop  context.CancelFunc
	cause func() error
	// end is stop, and what else the end of the request brings with it.
	end func()
}

// newFeed returns a feed and the context of its life, which stop ends.
func newFeed(ctx context.Context) (*feed, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	return &feed{stop: cancel, end: cancel, cause: func() error { return context.Cause(ctx) }}, ctx
}

// each runs the feed to its end, in a goroutine of its own: on top of the handler's
// frames and the router's, those of a turn would need a stack of twice the size for as
// long as the answer takes. A panic of take is the handler's.
func (f *feed) each(take func(item) bool) {
	var caught any
	var turn sync.WaitGroup
	turn.Go(func() {
		f.run(func(it item) (more bool) {
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
func pump(ctx context.Context, run Runner, t agent.Turn, log *slog.Logger, send func(item) bool) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("turn panicked", "turn_id", t.ID, "panic", p, "stack", string(debug.Stack()))
			send(item{err: fmt.Errorf("turn panicked: %v", p)})
		}
	}()
	for ev, err := range run.Run(ctx, t) {
		if !send(item{event: ev, err: err}) {
			return
		}
	}
}
