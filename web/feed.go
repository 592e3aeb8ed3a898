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
}

// A feed runs a turn in a goroutine of its own, so that a handler can wait for the
// next event and for the clock at once. Whoever starts it calls stop.
type feed struct {
	// items is closed when the turn has ended.
	items  chan item
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// feedBuffer lets a fast turn run a little ahead of the connection, whose writes
// are then joined.
const feedBuffer = 16

func startFeed(ctx context.Context, run Runner, t agent.Turn, log *slog.Logger) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{items: make(chan item, feedBuffer), cancel: cancel}
	f.wg.Go(func() {
		defer close(f.items)
		f.pump(ctx, run, t, log)
	})
	return f
}

// stop cancels the turn, if it still runs, and waits until it has cleaned up.
func (f *feed) stop() {
	f.cancel()
	f.wg.Wait()
}

func (f *feed) pump(ctx context.Context, run Runner, t agent.Turn, log *slog.Logger) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("turn panicked", "turn_id", t.ID, "panic", p, "stack", string(debug.Stack()))
			f.send(ctx, item{err: fmt.Errorf("turn panicked: %v", p)})
		}
	}()
	for ev, err := range run.Run(ctx, t) {
		if !f.send(ctx, item{event: ev, err: err}) {
			return
		}
	}
}

func (f *feed) send(ctx context.Context, it item) bool {
	select {
	case f.items <- it:
		return true
	case <-ctx.Done():
		return false
	}
}
