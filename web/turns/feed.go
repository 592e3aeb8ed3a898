package turns

import (
	"context"
	"iter"
	"strings"

	"molar/agent/answer"
)

// A Feed delivers the items of a turn to one request. Its owner calls End.
type Feed struct {
	turn *Live
	// id is that of the last item that the client has, and have counts the items of the turn when the
	// feed began.
	id, have int
	ctx      context.Context //nolint:containedctx // that of the request, as in http.Request
	cancel   context.CancelFunc
}

// Follow returns the items after the one with that id, 0 for all. A feed of a turn that only its
// client reads slows it down and ends with it, and its end ends the turn. Any other does not slow down
// the turn. If the turn broke, every follower gets that error, even if it has received more items than
// are here.
func (t *Live) Follow(ctx context.Context, id int) *Feed {
	f := &Feed{turn: t, id: id}
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.have, _, _ = t.Log.State()
	return f
}

// Stop ends the feed, and the turn if it may not go on without its client.
func (f *Feed) Stop() {
	f.cancel()
	if !f.turn.MayBeFollowed() {
		f.turn.Abandon()
	}
}

// Cause returns why the feed was stopped; nil if it was not.
func (f *Feed) Cause() error { return context.Cause(f.ctx) }

// End stops the feed, and waits for the end of a turn that ends with it.
func (f *Feed) End() {
	f.Stop()
	if !f.turn.MayBeFollowed() {
		<-f.turn.Ended()
	}
}

// Items returns the items to send. It is single use.
func (f *Feed) Items() iter.Seq[Item] {
	return func(yield func(Item) bool) {
		t, ctx := f.turn, f.ctx
		if !t.MayBeFollowed() {
			ctx = context.WithoutCancel(ctx) // the turn ends with the request, and says why
		}
		has, failed := t.NumberOf(f.id), false
		for n := min(has, f.have); ; {
			items, err := t.Log.After(ctx, n)
			if err != nil {
				yield(Item{Err: err})
				return
			}
			if len(items) == 0 {
				if why := t.broken.Load(); why != nil && !failed && ctx.Err() == nil {
					yield(Item{Err: *why})
				}
				return
			}
			first := n + 1
			n += len(items)
			for first <= min(has, n) && t.idOf(first)>>attemptBits <= f.id>>attemptBits { // it has this one
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
				if !yield(it) {
					return
				}
			}
		}
	}
}

// attemptBits is where the id of an item has the number of continuations before it: a process that is
// lost may have shown items that nobody recorded, under numbers that the next one uses again.
const attemptBits = 32

// idOf returns the id of item n.
func (t *Live) idOf(n int) int {
	if t.Log.isQueue() {
		return n
	}
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
