package web

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"molar/agent"
)

// maxLog bounds what is held of one turn, in bytes as turnLog counts them.
const maxLog = 8 << 20

// errEventsLost is told to one who asks for what is not held any more.
var errEventsLost = &apiError{
	status: http.StatusGone, kind: typeInvalid, code: "events_lost", noRetry: true,
	message: "the turn has more events than are held, and these are gone; read its conversation for the answer",
}

// A turnLog holds the items of one turn, numbered from 1, for any number of readers.
// Beyond maxLog it forgets the oldest.
type turnLog struct {
	mu    sync.Mutex
	items []item
	// gone is how many items were forgotten.
	gone  int
	size  int
	ended bool
	// more is closed, and made anew, whenever there is news.
	more  chan struct{}
	start *agent.Start
}

func newTurnLog() *turnLog { return &turnLog{more: make(chan struct{})} }

// add appends an item.
func (l *turnLog) add(it item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if it.event.Kind == agent.EventStart {
		l.start = it.event.Start
	}
	it.number = l.gone + len(l.items) + 1
	l.items = append(l.items, it)
	l.size += sizeOf(it)
	for l.size > maxLog && len(l.items) > 1 {
		l.size -= sizeOf(l.items[0])
		l.items[0] = item{} // for the garbage collector
		l.items, l.gone = l.items[1:], l.gone+1
	}
	l.wake()
}

// end says that no item will follow.
func (l *turnLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.wake()
}

func (l *turnLog) wake() {
	close(l.more)
	l.more = make(chan struct{})
}

// after waits for items with numbers above n and returns them; none when the turn
// has ended or ctx has.
func (l *turnLog) after(ctx context.Context, n int) ([]item, error) {
	for {
		l.mu.Lock()
		have, ended, more := l.gone+len(l.items), l.ended, l.more
		switch {
		case n < l.gone:
			l.mu.Unlock()
			return nil, errEventsLost
		case n < have:
			items := l.items[n-l.gone:]
			l.mu.Unlock()
			return items, nil
		}
		l.mu.Unlock()
		if ended {
			return nil, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// state returns how many items there were, how many of them are gone, and whether
// the turn has ended.
func (l *turnLog) state() (have, gone int, ended bool, start *agent.Start) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone + len(l.items), l.gone, l.ended, l.start
}

// textUntil returns the answer's text up to item n, and whether all of it is held.
func (l *turnLog) textUntil(n int) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone > 0 {
		return "", n == 0
	}
	var b strings.Builder
	for _, it := range l.items[:min(n, len(l.items))] {
		if it.event.Kind == agent.EventText {
			b.WriteString(it.event.Text)
		}
	}
	return b.String(), true
}

// bytes is the size of what is held.
func (l *turnLog) bytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// sizeOf is about how much memory an item takes.
func sizeOf(it item) int {
	const fixed = 256
	n := fixed + len(it.event.Text)
	if it.event.Result != nil {
		n += len(it.event.Result.Output)
	}
	if it.event.Call != nil {
		n += len(it.event.Call.Function.Arguments)
	}
	if it.event.Approval != nil {
		n += len(it.event.Approval.Arguments)
	}
	return n
}

// follow gives the items after number n as a feed, which does not hold the turn up.
func (l *turnLog) follow(ctx context.Context, n int) *feed {
	f, ctx := newFeed(ctx)
	f.run = func(send func(item) bool) {
		for {
			items, err := l.after(ctx, n)
			if err != nil {
				send(item{err: err})
				return
			}
			if len(items) == 0 {
				return
			}
			for _, it := range items {
				if !send(it) {
					return
				}
			}
			n += len(items)
		}
	}
	return f
}
