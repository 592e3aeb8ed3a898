package journal

import (
	"context"
	"errors"
	"time"

	"molar/schemas"
)

const (
	// reapEvery is the interval at which turns of silent processes are searched for.
	reapEvery = time.Second
	// healthyFor is how long this process must have reached the store without a gap of gapFor before
	// it takes over turns of others: after an outage of the store, or when all processes were
	// suspended, every process seems silent.
	healthyFor, gapFor = 8 * time.Second, 4 * time.Second
)

// A pulse measures for how long a process has reached the store without a gap. The zero value is that
// of a process that never did.
type pulse struct{ since, last time.Time }

// beat records that the store is used now, and reports whether it was reached long enough before.
func (p *pulse) beat(now time.Time) bool {
	now = now.Round(0) // the monotonic clock stops while a machine sleeps
	if gap := now.Sub(p.last); gap > gapFor || gap < 0 {
		p.since = now
	}
	p.last = now
	return now.Sub(p.since) >= healthyFor
}

// reap takes over the turns of processes that have ended, at once and then every second. Later it also
// takes those of processes that are silent. Each turn goes on here, or is saved as interrupted.
func (r *Recorder) reap(ctx context.Context) {
	first, cancel := context.WithTimeout(ctx, storeFor)
	left, err := r.store.TakeDead(first, false)
	if err != nil && ctx.Err() == nil {
		r.log.Warn("the turns of processes that are gone cannot be read; trying again", "error", err)
	}
	left = r.recoverAll(first, left)
	cancel()
	close(r.ready)
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	var own pulse
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.look:
		}
		round, cancel := context.WithTimeout(ctx, storeFor)
		lost, err := r.lost(round, own.beat(time.Now()))
		if err != nil {
			own = pulse{}
		}
		left = r.recoverAll(round, append(left, lost...))
		cancel()
	}
}

// lost takes over turns of dead processes, and of silent ones if may is set.
func (r *Recorder) lost(ctx context.Context, may bool) ([]string, error) {
	if idle, err := r.store.IsIdle(ctx); err != nil || idle {
		return nil, err
	}
	r.mu.Lock()
	goesOn := r.goOn != nil
	r.mu.Unlock()
	lost, err := r.store.TakeDead(ctx, goesOn)
	if err != nil || !may {
		return lost, err
	}
	silent, err := r.store.TakeLost(ctx, goesOn)
	return append(lost, silent...), err
}

// recoverAll recovers turns, and returns those that could not be.
func (r *Recorder) recoverAll(ctx context.Context, ids []string) (left []string) {
	for _, id := range ids {
		if err := r.recoverOne(ctx, id); err != nil {
			r.log.Warn("a turn whose process is gone could not be saved; trying again", "turn", id, "error", err)
			left = append(left, id)
		}
	}
	return left
}

func (r *Recorder) recoverOne(ctx context.Context, id string) error {
	record, ok, err := r.store.Read(ctx, id)
	if err != nil || !ok {
		return err
	}
	if on, err := r.continues(ctx, record); on || err != nil {
		return err
	}
	if len(record.State) > 0 {
		if err := r.recover(ctx, record); err != nil {
			return err
		}
	}
	if err := r.store.Lose(ctx, id); err != nil {
		return err
	}
	r.log.Warn("a turn whose process is gone was ended", "turn", id)
	if r.wake != nil && record.Shared {
		_ = r.wake(ctx, id) // otherwise its followers read it at their next poll
	}
	return nil
}

// mostAttempts is how many processes run a turn: one that kills its process does not kill all.
const mostAttempts = 3

// ErrLater is the error of a process that cannot continue a turn now, but another one may.
var ErrLater = errors.New("the turn is left to another process")

// continues reports whether the turn goes on in this process.
func (r *Recorder) continues(ctx context.Context, record schemas.JournalRecord) (bool, error) {
	r.mu.Lock()
	goOn := r.goOn
	r.mu.Unlock()
	switch {
	case goOn == nil || !record.GoesOn || record.Ended:
		return false, nil
	case record.Attempt > mostAttempts:
		r.log.Error("a turn is not continued again: its process was lost each time", "turn", record.ID, "attempts", record.Attempt-1)
		return false, nil
	}
	if err := goOn(ctx, record); errors.Is(err, ErrLater) {
		return false, errors.Join(err, r.store.Leave(ctx, []string{record.ID}))
	} else if err != nil {
		r.log.Warn("a turn whose process is gone is not continued", "turn", record.ID, "error", err)
		return false, nil
	}
	r.log.Warn("a turn whose process is gone goes on here", "turn", record.ID, "attempt", record.Attempt)
	return true, nil
}
