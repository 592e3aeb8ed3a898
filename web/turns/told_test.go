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
	"molar/schemas"
)

// A common ledger is one of several processes: what they see of it ends when they do, or while
// it is away.
type common struct {
	mu    sync.Mutex
	turns map[string]*commonTurn
	ears  []func([]string)
	// away is an outage; mute loses what processes wake one another with.
	away, mute bool
}

type commonTurn struct {
	of          *seen
	beat        time.Time
	rows        []schemas.LiveRow
	ended, lost bool
}

// seen is the ledger of one process.
type seen struct {
	Ledger
	*common
	dead bool
}

var errAway = errors.New("the ledger does not answer")

// enter begins an exchange; the returned func ends it.
func (s *seen) enter() (leave func(), err error) {
	s.mu.Lock()
	if s.dead || s.away {
		err = errAway
	}
	return s.mu.Unlock, err
}

func (s *seen) Begin(_ context.Context, t schemas.LiveTurn) error {
	leave, err := s.enter()
	defer leave()
	s.turns[t.ID] = &commonTurn{of: s, beat: time.Now()}
	return err
}

func (s *seen) Find(_ context.Context, _, id string) (schemas.LiveTurn, bool, error) {
	leave, err := s.enter()
	defer leave()
	return schemas.LiveTurn{ID: id}, s.turns[id] != nil, err
}

func (s *seen) Tell(_ context.Context, news []schemas.LiveNews) (map[string]bool, error) {
	leave, err := s.enter()
	defer leave()
	held := map[string]bool{}
	for _, n := range news {
		if t := s.turns[n.TurnID]; err == nil && !t.ended {
			held[n.TurnID], t.beat, t.ended, t.rows = false, time.Now(), n.Ended, append(t.rows, n.Rows...)
		}
	}
	return held, err
}

func (s *seen) Read(_ context.Context, after map[string]int) (map[string]schemas.LiveUpdate, bool, error) {
	leave, err := s.enter()
	defer leave()
	told := map[string]schemas.LiveUpdate{}
	for id, n := range after {
		t := s.turns[id]
		one := schemas.LiveUpdate{Ended: t.ended, Lost: t.lost}
		for _, r := range t.rows {
			if r.First > n {
				one.Rows = append(one.Rows, r)
			}
		}
		told[id] = one
	}
	return told, false, err
}

func (s *seen) Reap(context.Context) (lost []string, err error) {
	leave, err := s.enter()
	defer leave()
	if err != nil {
		return nil, err
	}
	const stale = 8 * time.Second
	for id, t := range s.turns {
		if !t.ended && time.Since(t.beat) > stale {
			t.ended, t.lost, lost = true, true, append(lost, id)
		}
	}
	return lost, nil
}

func (s *seen) Wake(_ context.Context, ids ...string) error {
	leave, err := s.enter()
	defer leave()
	if err == nil && !s.mute {
		for _, ear := range s.ears {
			ear(ids)
		}
	}
	return err
}

func (s *seen) Listen(ctx context.Context, woken func([]string), _ func(bool)) error {
	s.mu.Lock()
	s.ears = append(s.ears, func(ids []string) { go woken(ids) })
	s.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (s *seen) Decided(context.Context) ([]schemas.LiveAsk, error) { return nil, nil }

// A process shares until the test ends.
func process(t *testing.T, c *common) (*Sharing, *seen) {
	t.Helper()
	ledger := &seen{common: c}
	s := NewSharing(ledger, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	t.Cleanup(running.Wait)
	t.Cleanup(stop)
	return s, ledger
}

func begun(t *testing.T, s *Sharing, id string) *Live {
	t.Helper()
	turn := &Live{ID: id, Log: NewLog(sizeOf), cancel: func(error) {}}
	if err := s.begin(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	turn.Log.Add(Item{Event: answer.Event{Kind: answer.KindText, Text: "one "}})
	return turn
}

// Whoever follows a turn whose process dies is told so within 15 s, in whatever phase of the
// clocks that is: also where no word comes through, and by processes that are new themselves.
func TestSharing_TellsOfTheDead(t *testing.T) {
	const most = 15 * time.Second
	for name, c := range map[string]struct{ mute, young bool }{
		"words come through": {}, "no word comes through": {mute: true}, "the others have just begun": {young: true},
	} {
		t.Run(name, func(t *testing.T) {
			for phase := range 20 {
				synctest.Test(t, func(t *testing.T) {
					shared := &common{turns: map[string]*commonTurn{}, mute: c.mute}
					owner, dies := process(t, shared)
					var follower *Sharing
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

// A ledger that was away for longer than a process may be silent is no reason to take anyone
// for gone.
func TestSharing_OutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &common{turns: map[string]*commonTurn{}}
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

// A process that was suspended, maybe with all the others, first looks for a while.
func TestPulse(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var p pulse
	after := func(d time.Duration, want bool) {
		t.Helper()
		if now = now.Add(d); p.beat(now) != want {
			t.Errorf("at %s: %v", now.Format(time.TimeOnly), !want)
		}
	}
	for range 8 {
		after(time.Second, false)
	}
	after(time.Second, true)
	after(20*time.Second, false)
	after(gapFor, false)
	after(gapFor, true)
	after(-time.Minute, false) // the clock was set
}
