package web

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"molar/agent"
)

// An item is an event of a turn, or the error that ended it.
type item struct {
	event agent.Event
	err   error
	// number counts the items of a turn that is logged, from 1.
	number int
}

// A feed brings the items of a turn to the handler of one request, which can so wait
// for the next one and for the clock at once. Whoever makes it calls stop.
type feed struct {
	// items is closed when the turn has ended.
	items chan item
	// gone is closed when nobody reads any more; cause then says why.
	gone   <-chan struct{}
	cause  func() error
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// feedBuffer lets a fast turn run a little ahead of the connection, whose writes
// are then joined.
const feedBuffer = 8

// newFeed returns a feed and the context of its life, which stop ends.
func newFeed(ctx context.Context) (*feed, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	cause := func() error { return context.Cause(ctx) }
	return &feed{items: make(chan item, feedBuffer), gone: ctx.Done(), cause: cause, cancel: cancel}, ctx
}

// start runs a turn in a goroutine of its own. The reader's pace is the turn's.
func (f *feed) start(ctx context.Context, run Runner, t agent.Turn, log *slog.Logger) {
	f.wg.Go(func() {
		defer close(f.items)
		pump(ctx, run, t, log, func(it item) bool { return f.send(it) })
	})
}

// stop cancels the turn, if it is the feed's own and still runs, and waits until it
// has cleaned up.
func (f *feed) stop() {
	f.cancel()
	f.wg.Wait()
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

func (f *feed) send(it item) bool {
	select {
	case f.items <- it:
		return true
	case <-f.gone:
		return false
	}
}
