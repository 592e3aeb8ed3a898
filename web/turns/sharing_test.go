package turns

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent/answer"
	"molar/agent/journal"
	"molar/schemas"
)

// A sharedLedger is the ledger of several processes. A process has access to it until the process
// ends, except during an outage.
type sharedLedger struct {
	mu        sync.Mutex
	turns     map[string]*sharedTurn
	listeners []func([]string)
	// away is an outage; mute drops the notifications between processes.
	away, mute bool
}

type sharedTurn struct {
	of          *processLedger
	beat        time.Time
	rows        []schemas.JournalRow
	ended, lost bool
}

// processLedger is the ledger as one process uses it.
type processLedger struct {
	Ledger
	*sharedLedger
	dead bool
}

var errAway = errors.New("the ledger does not answer")

// enter begins an exchange with the ledger; the returned func ends it.
func (s *processLedger) enter() (leave func(), err error) {
	s.mu.Lock()
	if s.dead || s.away {
		err = errAway
	}
	return s.mu.Unlock, err
}

func (s *processLedger) Begin(_ context.Context, t schemas.JournalTurn) error {
	leave, err := s.enter()
	defer leave()
	s.turns[t.ID] = &sharedTurn{of: s, beat: time.Now()}
	return err
}

func (s *processLedger) Find(_ context.Context, _, id string) (schemas.JournalTurn, bool, error) {
	leave, err := s.enter()
	defer leave()
	return schemas.JournalTurn{ID: id}, s.turns[id] != nil, err
}

func (s *processLedger) Write(_ context.Context, _ bool, news []schemas.JournalNews) (map[string]bool, error) {
	leave, err := s.enter()
	defer leave()
	stops := map[string]bool{}
	for _, n := range news {
		if t := s.turns[n.TurnID]; err == nil && !t.ended {
			stops[n.TurnID], t.beat, t.ended, t.rows = false, time.Now(), n.Ended, append(t.rows, n.Rows...)
		}
	}
	return stops, err
}

func (s *processLedger) Read(_ context.Context, after map[string]int) (map[string]schemas.JournalUpdate, bool, error) {
	leave, err := s.enter()
	defer leave()
	updates := map[string]schemas.JournalUpdate{}
	for id, n := range after {
		t := s.turns[id]
		one := schemas.JournalUpdate{Ended: t.ended, Lost: t.lost}
		for _, r := range t.rows {
			if r.First > n {
				one.Rows = append(one.Rows, r)
			}
		}
		updates[id] = one
	}
	return updates, false, err
}

func (s *processLedger) Beat(context.Context) (map[string]bool, error) {
	leave, err := s.enter()
	defer leave()
	held := map[string]bool{}
	for id, t := range s.turns {
		if err == nil && t.of == s && !t.ended {
			held[id], t.beat = false, time.Now()
		}
	}
	return held, err
}

func (s *processLedger) IsIdle(context.Context) (bool, error) {
	leave, err := s.enter()
	defer leave()
	return false, err
}

func (s *processLedger) TakeDead(context.Context, bool) ([]string, error) { return nil, nil }

func (s *processLedger) TakeLost(context.Context, bool) (lost []string, err error) {
	leave, err := s.enter()
	defer leave()
	if err != nil {
		return nil, err
	}
	const stale = 8 * time.Second
	for id, t := range s.turns {
		if t.of != s && !t.ended && time.Since(t.beat) > stale {
			t.of, t.beat, lost = s, time.Now(), append(lost, id)
		}
	}
	return lost, nil
}

func (s *processLedger) Lose(_ context.Context, id string) error {
	leave, err := s.enter()
	defer leave()
	if err == nil {
		s.turns[id].ended, s.turns[id].lost = true, true
	}
	return err
}

func (s *processLedger) Leave(context.Context, []string) error { return nil }

func (s *processLedger) Drop(context.Context, []string) error { return nil }

func (s *processLedger) Wake(_ context.Context, ids ...string) error {
	leave, err := s.enter()
	defer leave()
	if err == nil && !s.mute {
		for _, listen := range s.listeners {
			listen(ids)
		}
	}
	return err
}

func (s *processLedger) Listen(ctx context.Context, woken func([]string), _ func(bool)) error {
	s.mu.Lock()
	s.listeners = append(s.listeners, func(ids []string) { go woken(ids) })
	s.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (s *processLedger) Decided(context.Context) ([]schemas.LiveAsk, error) { return nil, nil }

// A member is a process that shares turns.
type member struct {
	*Sharing
	journal *journal.Recorder
}

// aJournal is the ledger of a process as its recorder uses it.
type aJournal struct{ *processLedger }

func (j aJournal) Read(_ context.Context, id string) (r schemas.JournalRecord, ok bool, err error) {
	leave, err := j.enter()
	defer leave()
	r.ID, r.Shared = id, true
	return r, true, err
}

// process starts a process that shares turns until the test ends.
func process(t *testing.T, c *sharedLedger) (member, *processLedger) {
	t.Helper()
	ledger := &processLedger{sharedLedger: c}
	s := NewSharing(ledger, nil, slog.New(slog.DiscardHandler))
	r, err := journal.New(journal.Config{
		Store: aJournal{ledger}, Wake: ledger.Wake, Recover: func(context.Context, schemas.JournalRecord) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	running.Go(func() { r.Run(ctx) })
	t.Cleanup(running.Wait)
	t.Cleanup(stop)
	return member{s, r}, ledger
}

func begun(t *testing.T, s member, id string) *Live {
	t.Helper()
	turn := &Live{ID: id, Log: NewLog(sizeOf), cancel: func(error) {}}
	var err error
	if turn.journal, err = s.journal.Open(t.Context(), schemas.JournalTurn{ID: id, Shared: true}, func(error) {}); err != nil {
		t.Fatal(err)
	}
	turn.add(Item{Event: answer.Event{Kind: answer.KindText, Text: "one "}})
	return turn
}

// A follower of a turn whose process dies gets the error within 15 s, whatever the phase of the
// timers: also if no notifications arrive, and if the other processes have just started.
func TestSharing_TellsOfTheDead(t *testing.T) {
	const most = 15 * time.Second
	for name, c := range map[string]struct{ mute, young bool }{
		"words come through": {}, "no word comes through": {mute: true}, "the others have just begun": {young: true},
	} {
		t.Run(name, func(t *testing.T) {
			for phase := range 20 {
				synctest.Test(t, func(t *testing.T) {
					shared := &sharedLedger{turns: map[string]*sharedTurn{}, mute: c.mute}
					owner, dies := process(t, shared)
					var follower member
					others := func() { follower, _ = process(t, shared); process(t, shared) }
					if !c.young {
						others()
						time.Sleep(time.Minute)
					}
					begun(t, owner, "t")
					time.Sleep(time.Duration(phase) * 330 * time.Millisecond)
					shared.mu.Lock()
					dies.dead = true
					shared.mu.Unlock()
					began := time.Now()
					if c.young {
						others()
					}
					set := NewSet(nil, nil)
					mirror, _ := set.attachMirror(&Live{ID: "t", cancel: func(error) {}})
					follower.follow(set, mirror)
					<-mirror.done
					if took := time.Since(began); !mirror.IsBroken() || took > most {
						t.Errorf("phase %d: told after %v, broken %v", phase, took, mirror.IsBroken())
					}
				})
			}
		})
	}
}

// After an outage of the ledger that is longer than the time for which a process may be silent, no
// process counts as dead.
func TestSharing_OutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &sharedLedger{turns: map[string]*sharedTurn{}}
		for _, id := range []string{"a", "b", "c"} {
			s, _ := process(t, shared)
			begun(t, s, id)
		}
		time.Sleep(20 * time.Second)
		for range 5 {
			for _, away := range []bool{true, false} {
				shared.mu.Lock()
				shared.away = away
				shared.mu.Unlock()
				time.Sleep(11 * time.Second)
			}
		}
		shared.mu.Lock()
		defer shared.mu.Unlock()
		for id, turn := range shared.turns {
			if turn.ended {
				t.Errorf("turn %s was ended", id)
			}
		}
	})
}
