package turns

import (
	"context"
	"time"
)

const (
	// reapEvery is how often turns of silent processes are looked for.
	reapEvery = time.Second
	// healthyFor is how long this process itself must have heard the ledger, without a gap of
	// gapFor: after an outage, or after all were suspended, every process seems silent.
	healthyFor, gapFor = 8 * time.Second, 4 * time.Second
)

// A pulse measures how long a process has looked without a gap. The zero value has not looked.
type pulse struct{ since, last time.Time }

// beat records a look and reports whether there were enough.
func (p *pulse) beat(now time.Time) bool {
	now = now.Round(0) // the other clock stands still while a machine sleeps
	if gap := now.Sub(p.last); gap > gapFor || gap < 0 {
		p.since = now
	}
	p.last = now
	return now.Sub(p.since) >= healthyFor
}

// reap ends turns of silent processes. Every replica does that.
func (s *Sharing) reap(ctx context.Context) {
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	var own pulse
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.calls:
		}
		s.applyRemote(ctx)
		if err := s.reapOnce(ctx, own.beat(time.Now())); err != nil {
			own = pulse{}
		}
	}
}

// reapOnce asks the ledger; it ends turns only if may is set.
func (s *Sharing) reapOnce(ctx context.Context, may bool) error {
	round, cancel := context.WithTimeout(ctx, ledgerFor)
	defer cancel()
	if !may {
		_, _, err := s.ledger.Find(round, "", "")
		return err
	}
	lost, err := s.ledger.Reap(round)
	if err != nil || len(lost) == 0 {
		return err
	}
	s.log.Warn("turns whose replica is gone were ended", "turns", len(lost))
	_ = s.ledger.Wake(round, lost...) // else followers read them at netEvery
	s.wake(lost)
	return nil
}
