package turns

import (
	"context"
	"errors"
	"time"

	"molar/schemas"
	"molar/web/wire"
)

// Find returns an owner's turn that runs or ended recently, in this process or in one that
// shares its ledger.
func (h *Host) Find(ctx context.Context, owner, id string) (*Live, bool, error) {
	if t, ok := h.Set.Find(owner, id); ok {
		return t, ok, nil
	}
	if h.Sharing == nil {
		return h.awaitContinued(ctx, owner, id)
	}
	t, err := h.mirror(ctx, owner, id)
	if err != nil {
		h.Logger.Error("look for a turn of another replica", "turn_id", id, "error", err)
		return nil, false, wire.ErrStore
	}
	return t, t != nil, nil
}

// How long, and how often, a turn is looked for that is about to go on in this process.
const continuedFor, continuedEvery = 5 * time.Second, 50 * time.Millisecond

// awaitContinued waits until a turn of the process before this one goes on here.
func (h *Host) awaitContinued(ctx context.Context, owner, id string) (*Live, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, continuedFor)
	defer cancel()
	for {
		on, err := h.Journal.GoesOn(ctx, owner, id)
		t, ok := h.Set.Find(owner, id)
		switch {
		case ok, err == nil && !on:
			return t, ok, nil
		case err != nil && ctx.Err() == nil:
			h.Logger.Error("look for a turn of the process before this one", "turn_id", id, "error", err)
			return nil, false, wire.ErrStore
		case err != nil:
			return nil, false, ErrLost
		}
		pause(ctx, continuedEvery)
	}
}

// IsGone reports whether the process of an owner's turn seems to have died: no process runs the
// turn, and the ledger has no normal end of it.
func (h *Host) IsGone(ctx context.Context, owner, id string) (bool, error) {
	t, here := h.Set.Find(owner, id)
	ctx, cancel := context.WithTimeout(ctx, ledgerFor)
	defer cancel()
	if here = here && t.over == nil; here || h.Sharing == nil {
		on, err := h.Journal.GoesOn(ctx, owner, id)
		return !here && !on, err
	}
	found, ok, err := h.Sharing.ledger.Find(ctx, owner, id)
	if err != nil {
		h.Logger.Error("look for a turn of another replica", "turn_id", id, "error", err)
		return false, wire.ErrStore
	}
	return !ok || found.Lost, nil
}

// mirror follows a turn of another process for all its followers here; nil means that there is
// no such turn.
func (h *Host) mirror(ctx context.Context, owner, id string) (*Live, error) {
	s := h.Sharing
	ctx, cancel := context.WithTimeout(ctx, ledgerFor)
	defer cancel()
	found, ok, err := s.ledger.Find(ctx, owner, id)
	if err != nil || !ok {
		return nil, err
	}
	t := &Live{
		ID: id, owner: owner, assistant: found.Assistant, conversation: found.ConversationID, began: found.Began, now: h.Now,
		cancel: func(cause error) { s.stopElsewhere(id, cause) }, //nolint:contextcheck // the request that asks for the turn may end first
	}
	t, mine := h.Set.attachMirror(t)
	if mine {
		s.follow(h.Set, t)
	}
	if found.Ended { // all its items can be read
		select {
		case <-t.done:
		case <-ctx.Done():
		}
	}
	return t, nil
}

// stopElsewhere passes a person's request to stop to the process that runs the turn. It ignores
// other causes, which concern this process alone.
func (s *Sharing) stopElsewhere(id string, cause error) {
	if !errors.Is(cause, ErrStopped) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), ledgerFor)
	defer cancel()
	if err := s.ledger.Stop(ctx, id); err != nil {
		s.log.Error("a turn of another replica could not be stopped", "turn_id", id, "error", err)
		return
	}
	_ = s.ledger.Wake(ctx, id) // otherwise its replica reads the request with its next beat
}

// follow starts to read a turn of another process.
func (s *Sharing) follow(set *Set, t *Live) {
	t.over = func(err error) {
		if err != nil {
			t.broken.Store(&err)
			t.add(Item{Err: err})
		}
		set.end(t)
	}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.theirs[t.ID], s.woken[t.ID] = t, true
	}
	s.mu.Unlock()
	if closed {
		t.over(errFollowElsewhere)
		return
	}
	nudge(s.words)
}

// Leave ends the mirrors of other processes' turns, and refuses new followers.
func (s *Sharing) Leave() {
	if s == nil {
		return
	}
	s.mu.Lock()
	theirs := s.theirs
	s.theirs, s.closed = nil, true
	s.mu.Unlock()
	for _, t := range theirs {
		t.over(errFollowElsewhere)
	}
}

// read reads the news of the mirrored turns: of those that were notified, and of all periodically.
func (s *Sharing) read(ctx context.Context) {
	net := time.NewTimer(netEvery)
	defer net.Stop()
	failed := false
	for {
		all := false
		select {
		case <-ctx.Done():
			return
		case <-s.words:
			all = s.deaf.Load()
		case <-net.C:
			all = true
		}
		round, cancel := context.WithTimeout(ctx, ledgerFor)
		err := s.readOnce(round, all)
		cancel()
		if err != nil && ctx.Err() == nil && !failed {
			s.log.Warn("turns of other replicas cannot be read; retrying", "error", err)
		}
		failed = err != nil
		if every := netEvery; s.deaf.Load() || failed {
			net.Reset(deafEvery)
		} else {
			net.Reset(every)
		}
	}
}

// readOnce reads until there is nothing more to read.
func (s *Sharing) readOnce(ctx context.Context, all bool) error {
	for {
		after := s.toRead(all)
		if len(after) == 0 {
			return nil
		}
		updates, more, err := s.ledger.Read(ctx, after)
		if err != nil {
			s.mu.Lock()
			for id := range after {
				s.woken[id] = true
			}
			s.mu.Unlock()
			return err
		}
		for id, news := range updates {
			s.take(id, after[id], news)
		}
		if !more {
			return nil
		}
		s.wake(keysOf(after))
		all = false
	}
}

func keysOf(after map[string]int) []string {
	ids := make([]string, 0, len(after))
	for id := range after {
		ids = append(ids, id)
	}
	return ids
}

// toRead returns the ids of the turns to read, with the number of the last item of each here.
func (s *Sharing) toRead(all bool) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	after := make(map[string]int, len(s.woken))
	for id, t := range s.theirs {
		if all || s.woken[id] {
			after[id], _, _ = t.Log.State()
		}
	}
	clear(s.woken)
	return after
}

// take adds the news of a turn, which follow item n.
func (s *Sharing) take(id string, n int, news schemas.JournalUpdate) {
	s.mu.Lock()
	t := s.theirs[id]
	if t != nil && news.Ended {
		delete(s.theirs, id)
	}
	s.mu.Unlock()
	if t == nil {
		return
	}
	for _, r := range news.Rows {
		items, err := itemsOf(r)
		if err != nil || r.First != n+1 {
			s.log.Error("a turn of another replica cannot be read", "turn_id", id, "after", n, "first", r.First, "error", err)
			s.drop(id)
			t.over(ErrEventsLost)
			return
		}
		for _, it := range items {
			t.add(it)
		}
		n = r.Last
	}
	switch {
	case news.Ended && news.Lost:
		t.over(WithStored(ErrLost, ""))
	case news.Ended:
		t.over(nil)
	}
}

func (s *Sharing) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.theirs, id)
}
