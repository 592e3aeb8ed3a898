package turns

import (
	"context"
	"net/http"
	"sync"

	"molar/web/wire"
)

// maxLog is the largest size of the entries that a log holds, in bytes as its sizeOf counts them.
const maxLog = 8 << 20

// ErrEventsLost is the error for events that are no longer held.
var ErrEventsLost = &wire.Error{
	Status: http.StatusGone, Kind: wire.TypeInvalid, Code: "events_lost", NoRetry: true,
	Message: "the turn has more events than are held, and these are gone; read its conversation for the answer",
}

// A Log holds entries, numbered from 1. A log of [NewLog] keeps them for any number of readers, up to
// 8 MiB, and then drops the oldest ones. A queue has one reader, which it waits for and who takes
// what it reads.
type Log[T any] struct {
	sizeOf func(T) int
	// room is how many entries wait for the reader of a queue; zero for a log that keeps them.
	room int

	mu sync.Mutex
	// changed tells of new entries, of room for them, and of the end.
	changed sync.Cond
	entries []T
	// taken are the entries that the reader of a queue got last, and is done with when it asks for more.
	taken []T
	// gone is the number of entries that were dropped or taken.
	gone  int
	size  int
	ended bool
	// hurried is set on a queue that no longer waits for its reader.
	hurried bool
}

// NewLog returns an empty log that keeps its entries. sizeOf returns an entry's approximate size in
// bytes.
func NewLog[T any](sizeOf func(T) int) *Log[T] {
	l := &Log[T]{sizeOf: sizeOf}
	l.changed.L = &l.mu
	return l
}

// newQueue returns an empty queue.
func newQueue[T any](room int) *Log[T] {
	l := &Log[T]{room: room}
	l.changed.L = &l.mu
	return l
}

// isQueue reports whether the log has one reader.
func (l *Log[T]) isQueue() bool { return l.room > 0 }

// Add appends an entry. To a queue that is full, it waits for the reader.
func (l *Log[T]) Add(entry T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.isFull() {
		l.changed.Wait()
	}
	l.entries = append(l.entries, entry)
	l.changed.Broadcast()
	if l.isQueue() {
		return
	}
	l.size += l.sizeOf(entry)
	for l.size > maxLog && len(l.entries) > 1 {
		l.size -= l.sizeOf(l.entries[0])
		var none T
		l.entries[0] = none // for the garbage collector
		l.entries, l.gone = l.entries[1:], l.gone+1
	}
}

func (l *Log[T]) isFull() bool { return l.isQueue() && !l.hurried && len(l.entries) >= l.room }

// mustWait reports whether Add would wait.
func (l *Log[T]) mustWait() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isFull()
}

// hurry lets a queue grow without waiting for its reader.
func (l *Log[T]) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hurried = true
	l.changed.Broadcast()
}

// End marks the log as complete.
func (l *Log[T]) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.changed.Broadcast()
}

func (l *Log[T]) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed.Broadcast()
}

// After blocks until there are entries with numbers above n and returns them. It returns none when
// the log or ctx has ended. Those of a queue are valid until the next call.
func (l *Log[T]) After(ctx context.Context, n int) ([]T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for waits := false; ; waits = true {
		switch {
		case n < l.gone:
			return nil, ErrEventsLost
		case n < l.gone+len(l.entries):
			return l.take(n), nil
		case l.ended || ctx.Err() != nil:
			return nil, nil
		}
		if !waits && ctx.Done() != nil {
			defer context.AfterFunc(ctx, l.wake)()
		}
		l.changed.Wait()
	}
}

// take returns the entries with numbers above n. The caller holds mu.
func (l *Log[T]) take(n int) []T {
	if !l.isQueue() {
		return l.entries[n-l.gone:]
	}
	clear(l.taken) // for the garbage collector
	l.taken, l.entries = l.entries, l.taken[:0]
	l.gone += len(l.taken)
	l.changed.Broadcast()
	return l.taken
}

// State returns the number of all entries so far, how many of them were dropped, and whether the
// log has ended.
func (l *Log[T]) State() (have, gone int, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone + len(l.entries), l.gone, l.ended
}

// until returns the entries up to number n, and whether they are complete. It returns none if any
// was dropped.
func (l *Log[T]) until(n int) (entries []T, whole bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone > 0 {
		return nil, n == 0
	}
	return l.entries[:min(n, len(l.entries))], true
}

// Bytes returns the size of the held entries.
func (l *Log[T]) Bytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}
