package turns

import (
	"context"
	"time"
)

const (
	// reapEvery is the interval at which turns of silent processes are searched for.
	reapEvery = time.Second
	// healthyFor is how long this process must have reached the ledger without a gap of gapFor
	// before it ends turns of others: after an outage of the ledger, or when all processes were
	// suspended, every process seems silent.
	healthyFor, gapFor = 8 * time.Second, 4 * time.Second
)

// A pulse measures for how long a process has reached the ledger without a gap. The zero value is
// that of a process that never did.
type pulse struct{ since, last time.Time }

// beat records that the ledger is used now, and reports whether it was reached long enough
// before.
func (p *pulse) beat(now time.Time) bool {
	now = now.Round(0) // the monotonic clock stops while a machine sleeps
	if gap := now.Sub(p.last); gap > gapFor || gap < 0 {
		p.since = now
	}
	p.last = now
	return now.Sub(p.since) >= healthyFor
}

// reap ends turns of silent processes, on every replica. It also applies decisions made on other
// replicas.
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

// reapOnce ends turns of silent processes if may is set; else it only checks that the ledger can be
// reached.
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
	_ = s.ledger.Wake(round, lost...) // otherwise followers read them within netEvery
	s.wake(lost)
	return nil
}
