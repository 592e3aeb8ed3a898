package chain

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"molar/providers"
)

const (
	// breakAfter is how many failures in a row open a breaker.
	breakAfter = 5
	// pause is how long it then stays open, unless the service named a time; maxPause bounds
	// that, so that recovery is noticed.
	pause    = 30 * time.Second
	maxPause = time.Hour
)

// A breaker remembers whether a candidate answers, so that calls do not wait for one that is
// down. It is closed while calls succeed; open, so that calls skip the candidate, after too many
// failures in a row; and half open after the pause, when one trial call is allowed.
//
// It is not a library's because the pause follows the service's Retry-After, and a call made
// despite an open breaker counts too.
type breaker struct {
	name string
	log  *slog.Logger

	mu       sync.Mutex
	failures int       // in a row
	until    time.Time // end of the pause; zero when closed
	trial    bool      // a trial call is under way
	last     error     // the failure that opened it
}

// passes returns why a call should not be made now, or nil. It changes nothing.
func (b *breaker) passes() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refusal()
}

// begin is passes for a call that is made if it returns nil: if the breaker is half open, that
// call is the trial and must end with [breaker.end].
func (b *breaker) begin(ctx context.Context) (trial bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refusal(); err != nil {
		return false, err
	}
	if b.until.IsZero() {
		return false, nil
	}
	b.trial = true
	b.log.InfoContext(ctx, "provider is tried again", "provider", b.name)
	return true, nil
}

func (b *breaker) refusal() error {
	left := time.Until(b.until)
	switch {
	case b.until.IsZero(), left <= 0 && !b.trial:
		return nil
	case left <= 0:
		return fmt.Errorf("%s: passed over while another call tries whether it answers again: %w", b.name, b.last)
	}
	return fmt.Errorf("%s: passed over for %v after %d failures in a row: %w", b.name, max(left.Round(time.Second), time.Second), b.failures, b.last)
}

// end ends a trial, which may have no outcome if it was cancelled.
func (b *breaker) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trial = false
}

// answered records the first output of a call, which closes an open breaker: other calls need not
// wait for the end of the trial.
func (b *breaker) answered(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return
	}
	b.failures, b.until, b.trial, b.last = 0, time.Time{}, false, nil
	b.log.InfoContext(ctx, "provider answers again", "provider", b.name)
}

// succeeded records a call that completed.
func (b *breaker) succeeded(ctx context.Context) {
	b.answered(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = 0
}

// failed records a failure of the service. It opens the breaker after breakAfter failures, after
// a failed trial, or if the service names a time to retry.
func (b *breaker) failed(ctx context.Context, err *providers.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	told := err.Kind == providers.KindQuota && err.RetryAfter > 0
	if b.failures < breakAfter && b.until.IsZero() && !told {
		return
	}
	wait := pause
	if err.RetryAfter > 0 {
		wait = min(err.RetryAfter, maxPause)
	}
	wasOpen := time.Until(b.until) > 0
	if until := time.Now().Add(wait); until.After(b.until) {
		b.until = until
	}
	b.trial, b.last = false, err
	if !wasOpen {
		b.log.WarnContext(ctx, "provider is passed over", "provider", b.name, "for", wait, "failures", b.failures, "error", err)
	}
}

// pausedUntil returns the end of the pause, zero if the breaker is closed.
func (b *breaker) pausedUntil() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.until
}
