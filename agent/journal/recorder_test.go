package journal_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"molar/agent/answer"
	"molar/agent/journal"
	"molar/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// aStore is a store in this process.
type aStore struct {
	mu               sync.Mutex
	turns            map[string]*schemas.JournalRecord
	writes           int
	fail             bool // after the write
	left, lost, dead []string
}

func (s *aStore) Begin(_ context.Context, t schemas.JournalTurn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns[t.ID] = &schemas.JournalRecord{JournalTurn: t}
	return nil
}

func (s *aStore) Write(_ context.Context, _ bool, news []schemas.JournalNews) (map[string]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	held := map[string]bool{}
	for _, n := range news {
		t := s.turns[n.TurnID]
		if t == nil {
			continue
		}
		held[n.TurnID] = false
		for _, r := range n.Rows {
			if !slices.ContainsFunc(t.Rows, func(o schemas.JournalRow) bool { return o.First == r.First }) {
				t.Rows = append(t.Rows, r)
			}
		}
		t.Ended = n.Ended
	}
	if s.fail {
		return nil, errors.New("the connection was cut")
	}
	return held, nil
}

func (s *aStore) Beat(context.Context) (map[string]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := map[string]bool{}
	for id := range s.turns {
		held[id] = false
	}
	return held, nil
}

func (s *aStore) Drop(_ context.Context, ids []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.turns, id)
	}
	return nil
}

func (s *aStore) Leave(_ context.Context, ids []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, ids...)
	return nil
}

func (s *aStore) TakeDead(context.Context, bool) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dead := s.dead
	s.dead = nil
	return dead, nil
}

func (s *aStore) TakeLost(context.Context, bool) ([]string, error) { return nil, nil }

func (s *aStore) IsIdle(context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.dead) == 0, nil
}

func (s *aStore) Read(_ context.Context, id string) (r schemas.JournalRecord, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.turns[id]; t != nil {
		return *t, true, nil
	}
	return r, false, nil
}

func (s *aStore) Lose(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = append(s.lost, id)
	return nil
}

// written counts the writes.
func (s *aStore) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// shown returns the text that the store has of a turn.
func (s *aStore) shown(t *testing.T, id string) string {
	t.Helper()
	r, _, _ := s.Read(t.Context(), id)
	var seen answer.Collector
	last := 0
	for _, row := range r.Rows {
		items, err := journal.Decode(row)
		if err != nil || row.First != last+1 || row.Last != last+len(items) {
			t.Errorf("after item %d comes %+v: %v", last, row, err)
		}
		last = row.Last
		for _, it := range items {
			seen.Add(it.Read())
		}
	}
	return seen.Answer()
}

// run runs a recorder until stop is called.
func run(t *testing.T, s *aStore) (r *journal.Recorder, recovered *[]string, stop func()) {
	t.Helper()
	recovered = new([]string)
	if s.turns == nil {
		s.turns = map[string]*schemas.JournalRecord{}
	}
	r, err := journal.New(journal.Config{Store: s, Recover: func(_ context.Context, r schemas.JournalRecord) error {
		*recovered = append(*recovered, r.ID)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	return r, recovered, func() { cancel(); running.Wait() }
}

func open(t *testing.T, r *journal.Recorder, info schemas.JournalTurn, cancel func(error)) *journal.Turn {
	t.Helper()
	turn, err := r.Open(t.Context(), info, cancel)
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Begin(t.Context(), []byte(`"s"`), info.GoesOn); err != nil {
		t.Fatal(err)
	}
	return turn
}

func say(turn *journal.Turn, text string) {
	turn.Add(answer.Event{Kind: answer.KindText, Text: text}, 0)
}

// What was shown is written 250 ms later at most, 50 ms where others follow and at once if it is much;
// pieces of several turns share a write, and a turn that ends before that writes none.
func TestRecorder_Writes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &aStore{}
		r, _, stop := run(t, s)
		defer stop()
		one, two := open(t, r, schemas.JournalTurn{ID: "1"}, nil), open(t, r, schemas.JournalTurn{ID: "2"}, nil)
		short, followed := open(t, r, schemas.JournalTurn{ID: "3"}, nil), open(t, r, schemas.JournalTurn{ID: "4", Shared: true}, nil)
		for range 10 {
			say(one, "x")
			say(two, "y")
			time.Sleep(20 * time.Millisecond)
		}
		say(short, "z")
		short.End()
		if n := s.written(); n != 0 {
			t.Errorf("%d writes in the first 200 ms", n)
		}
		time.Sleep(51 * time.Millisecond)
		if s.shown(t, "1") != "xxxxxxxxxx" || s.shown(t, "2") != "yyyyyyyyyy" || s.written() != 1 {
			t.Errorf("after 250 ms: %q, %q in %d writes", s.shown(t, "1"), s.shown(t, "2"), s.written())
		}
		if _, there, _ := s.Read(t.Context(), "3"); there {
			t.Error("the journal of an ended turn is there")
		}
		say(followed, "a")
		time.Sleep(time.Millisecond)
		say(followed, "b")
		time.Sleep(50 * time.Millisecond)
		if s.shown(t, "4") != "ab" {
			t.Errorf("a follower sees %q", s.shown(t, "4"))
		}
		say(one, strings.Repeat("x", 5000))
		time.Sleep(60 * time.Millisecond)
		if len(s.shown(t, "1")) != 5010 {
			t.Errorf("of much %d bytes are written", len(s.shown(t, "1")))
		}
	})
}

// A write of unknown outcome is repeated as it was, so that no item is written twice or left out.
func TestRecorder_RepeatsAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &aStore{}
		r, _, stop := run(t, s)
		defer stop()
		turn := open(t, r, schemas.JournalTurn{ID: "1", Shared: true}, nil)
		for i := range 40 {
			s.mu.Lock()
			s.fail = i%3 > 0
			s.mu.Unlock()
			say(turn, string(rune('a'+i%26)))
			time.Sleep(17 * time.Millisecond)
		}
		s.mu.Lock()
		s.fail = false
		s.mu.Unlock()
		time.Sleep(time.Second)
		if got := s.shown(t, "1"); got != "abcdefghijklmnopqrstuvwxyzabcdefghijklmn" {
			t.Errorf("written %q", got)
		}
	})
}

// A turn that was taken over ends; one whose journal was erased goes on to its own end.
func TestRecorder_NotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &aStore{}
		r, _, stop := run(t, s)
		defer stop()
		var why []error
		erased := open(t, r, schemas.JournalTurn{ID: "erased"}, func(err error) { why = append(why, err) })
		s.mu.Lock()
		delete(s.turns, "erased")
		s.mu.Unlock()
		say(erased, "x")
		time.Sleep(5 * time.Second)
		if len(why) != 0 {
			t.Errorf("an erased turn ends with %v", why)
		}
	})
}

// A turn that is handed over is left to another process, with what was shown before, and nothing
// after.
func TestTurn_HandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &aStore{}
		r, _, stop := run(t, s)
		goes, plain := open(t, r, schemas.JournalTurn{ID: "1", Shared: true, GoesOn: true}, nil), open(t, r, schemas.JournalTurn{ID: "2"}, nil)
		say(goes, "before")
		if !goes.HandOver() || plain.HandOver() {
			t.Error("the wrong turn is handed over")
		}
		goes.Fail([]byte(`{}`), 0)
		goes.End()
		plain.End()
		stop()
		if s.shown(t, "1") != "before" || s.turns["1"].Ended || !slices.Equal(s.left, []string{"1"}) {
			t.Errorf("left %q, %+v", s.left, s.turns["1"])
		}
	})
}

// A lost turn goes on in a process that continues turns, at most twice, and is recovered otherwise.
func TestRecorder_GoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &aStore{turns: map[string]*schemas.JournalRecord{}, dead: []string{"plain", "on", "often", "later", "refused"}}
		for _, id := range s.dead {
			s.turns[id] = &schemas.JournalRecord{JournalTurn: schemas.JournalTurn{ID: id, State: []byte(`"s"`), GoesOn: id != "plain", Attempt: 2}}
		}
		s.turns["often"].Attempt = 4
		dead := s.dead
		s.dead = nil // until it continues turns
		r, recovered, stop := run(t, s)
		r.Ready(t.Context())
		var continued []string
		r.GoOn(func(_ context.Context, r schemas.JournalRecord) error {
			switch r.ID {
			case "later":
				return journal.ErrLater
			case "refused":
				return errors.New("its key was revoked")
			}
			continued = append(continued, r.ID)
			return nil
		})
		s.mu.Lock()
		s.dead = dead
		s.mu.Unlock()
		time.Sleep(1500 * time.Millisecond)
		stop()
		if !slices.Equal(continued, []string{"on"}) || !slices.Equal(*recovered, []string{"plain", "often", "refused"}) || !slices.Contains(s.left, "later") {
			t.Errorf("continued %q, recovered %q, left %q", continued, *recovered, s.left)
		}
	})
}
