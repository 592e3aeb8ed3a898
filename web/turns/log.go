package turns

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"molar/agent/answer"
	"molar/web/wire"
)

// maxLog is the largest size of the entries that a log holds, in bytes as its sizeOf counts them.
const maxLog = 8 << 20

// ErrEventsLost is the error for events that are no longer held.
var ErrEventsLost = &wire.Error{
	Status: http.StatusGone, Kind: wire.TypeInvalid, Code: "events_lost", NoRetry: true,
	Message: "the turn has more events than are held, and these are gone; read its conversation for the answer",
}

// A Log holds entries, numbered from 1, for any number of readers. Beyond 8 MiB it drops the
// oldest ones.
type Log[T any] struct {
	sizeOf func(T) int

	mu      sync.Mutex
	entries []T
	// gone is the number of dropped entries.
	gone  int
	size  int
	ended bool
	// more is closed when there are new entries or the log ends; it is nil if no reader waits.
	more chan struct{}
}

// NewLog returns an empty log. sizeOf returns an entry's approximate size in bytes.
func NewLog[T any](sizeOf func(T) int) *Log[T] {
	return &Log[T]{sizeOf: sizeOf}
}

// Add appends an entry.
func (l *Log[T]) Add(entry T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entry)
	l.size += l.sizeOf(entry)
	for l.size > maxLog && len(l.entries) > 1 {
		l.size -= l.sizeOf(l.entries[0])
		var none T
		l.entries[0] = none // for the garbage collector
		l.entries, l.gone = l.entries[1:], l.gone+1
	}
	l.wake()
}

// End marks the log as complete.
func (l *Log[T]) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.wake()
}

func (l *Log[T]) wake() {
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// After blocks until there are entries with numbers above n and returns them. It returns none when
// the log or ctx has ended.
func (l *Log[T]) After(ctx context.Context, n int) ([]T, error) {
	for {
		l.mu.Lock()
		have, ended := l.gone+len(l.entries), l.ended
		switch {
		case n < l.gone:
			l.mu.Unlock()
			return nil, ErrEventsLost
		case n < have:
			entries := l.entries[n-l.gone:]
			l.mu.Unlock()
			return entries, nil
		case ended:
			l.mu.Unlock()
			return nil, nil
		}
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more := l.more
		l.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return nil, nil
		}
	}
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

// sizeOf returns the approximate memory of an item.
func sizeOf(it Item) int {
	const fixed = 256
	n := fixed + len(it.Event.Text)
	if it.Event.Result != nil {
		n += len(it.Event.Result.Output)
		for _, file := range it.Event.Result.Media {
			n += len(file.Text)
		}
	}
	if it.Event.Call != nil {
		n += len(it.Event.Call.Function.Arguments)
	}
	if it.Event.Asked != nil {
		n += len(it.Event.Asked.Message) + len(it.Event.Asked.Schema)
	}
	if it.Event.News != nil {
		n += len(it.Event.News.Text)
	}
	if it.Event.Approval != nil {
		n += len(it.Event.Approval.Arguments)
	}
	return n
}

// SeenUntil returns the turn up to item n, and whether all of it is held.
func (t *Live) SeenUntil(n int) (seen answer.Collector, whole bool) {
	items, whole := t.Log.until(n)
	for _, it := range items {
		seen.Add(it.Event)
	}
	return seen, whole
}

// attemptBits is where the id of an item has the number of continuations before it: a process that is
// lost may have shown items that nobody recorded, under numbers that the next one uses again.
const attemptBits = 32

// idOf returns the id of item n.
func (t *Live) idOf(n int) int {
	t.adding.Lock()
	defer t.adding.Unlock()
	attempt := 0
	for _, reset := range t.resets {
		if n >= reset {
			attempt++
		}
	}
	return attempt<<attemptBits | n
}

// NumberOf returns the number of the last item that a client has which received the one with that id:
// not more than was recorded of its process.
func (t *Live) NumberOf(id int) int {
	t.adding.Lock()
	defer t.adding.Unlock()
	attempt, n := id>>attemptBits, id&(1<<attemptBits-1)
	if attempt < len(t.resets) {
		n = min(n, t.resets[attempt]-1)
	}
	return n
}

// taken returns which items are text that a later one of them resets: a follower that has not seen it
// need not see it at all.
func taken(items []Item) map[int]bool {
	var gone map[int]bool
	for i, it := range items {
		if it.Event.Kind != answer.KindReset || it.Event.Text == "" {
			continue
		}
		text, from := it.Event.Text, i
		for from > 0 && text != "" && items[from-1].Event.Kind == answer.KindText && strings.HasSuffix(text, items[from-1].Event.Text) {
			from--
			text = strings.TrimSuffix(text, items[from].Event.Text)
		}
		if text != "" { // the follower has a part of it
			continue
		}
		if gone == nil {
			gone = make(map[int]bool)
		}
		for ; from < i; from++ {
			gone[from] = true
		}
	}
	return gone
}

// Follow returns the items after the one with that id, 0 for all, as a feed that does not slow down the
// turn. If the turn broke, every follower gets that error, even if it has received more items than are
// here.
func (t *Live) Follow(ctx context.Context, id int) *Feed {
	f, ctx := newFeed(ctx)
	has := t.NumberOf(id)
	have, _, _ := t.Log.State()
	f.Run = func(send func(Item) bool) {
		n, failed := min(has, have), false
		for {
			items, err := t.Log.After(ctx, n)
			if err != nil {
				send(Item{Err: err})
				return
			}
			if len(items) == 0 {
				if why := t.broken.Load(); why != nil && !failed && ctx.Err() == nil {
					send(Item{Err: *why})
				}
				return
			}
			first := n + 1
			n += len(items)
			for first <= min(has, n) && t.idOf(first)>>attemptBits <= id>>attemptBits { // it has this one
				first, items = first+1, items[1:]
			}
			gone := taken(items)
			for i, it := range items {
				if it.Number, failed = t.idOf(first+i), it.Err != nil; gone[i] {
					continue
				}
				if i > 0 && gone[i-1] { // it was the text of this reset
					it.Event.Text = ""
				}
				if !send(it) {
					return
				}
			}
		}
	}
	return f
}
