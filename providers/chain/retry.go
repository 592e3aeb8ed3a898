package chain

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"time"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

const (
	// maxAgain is how often a call is retried because of its answer, and how often because the
	// service is busy.
	maxAgain = 2
	// maxChanges bounds the retries after refusals that taught the provider something.
	maxChanges = 8
	// maxBusy is the longest wait for a busy service: a longer one is reported to the person.
	// firstPause is the first wait if the service names none, limitPause the first wait after a
	// rate limit; each later one doubles.
	maxBusy    = 30 * time.Second
	firstPause = time.Second
	limitPause = 2 * time.Second
)

// Again returns a provider that retries the calls of p while that may help: at once after an
// empty answer, or a refusal from which p has learnt, and after a wait while the service is busy.
// It does not retry after text or a call has come. First bounds the wait for the first output,
// over all tries and the waits between them; zero means [wire.DefaultFirst].
func Again(p providers.Provider, first time.Duration) providers.Provider {
	if first <= 0 {
		first = wire.DefaultFirst
	}
	return again{p, first}
}

type again struct {
	providers.Provider
	first time.Duration
}

// Unwrap returns the wrapped provider.
func (a again) Unwrap() providers.Provider { return a.Provider }

// Stream runs one model call.
func (a again) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return wire.Stream(func(emit wire.Emit) error {
		t := &tries{inner: a.Provider, emit: emit}
		req.Until = time.Now().Add(a.first)
		return Repeat(ctx, req.Until, t.note, func(after error) error {
			req.After = after
			return t.try(ctx, req)
		})
	})
}

// tries are the tries of one call.
type tries struct {
	inner providers.Provider
	emit  wire.Emit
	texts bool          // text came
	calls bool          // a call came
	spent schemas.Usage // by the tries before
	usage schemas.Usage // by this one
}

// try makes the call once. Its error is a [final] one if it must not be retried.
func (t *tries) try(ctx context.Context, req providers.Request) error {
	t.spent, t.usage = t.spent.Add(t.usage), schemas.Usage{}
	for chunk, err := range t.inner.Stream(ctx, req) {
		if chunk.Usage != nil {
			t.usage = *chunk.Usage
			total := t.spent.Add(t.usage)
			chunk.Usage = &total
		}
		if err != nil {
			return t.failed(err)
		}
		t.texts = t.texts && !chunk.Retract || chunk.Text != ""
		t.calls = t.calls || chunk.Call != nil
		if err := t.emit(chunk); err != nil {
			return final{err}
		}
	}
	return nil
}

// failed returns the error of a try. Text that a retry follows becomes commentary.
func (t *tries) failed(err error) error {
	e, ok := errors.AsType[*providers.Error](err)
	switch {
	case t.calls, t.texts && (!ok || !e.Reask):
		return final{err}
	case t.texts:
		t.texts = false
		if err := t.emit(providers.Chunk{Retract: true}); err != nil {
			return final{err}
		}
	}
	return err
}

func (t *tries) note(text string) error { return t.emit(providers.Chunk{Note: text}) }

// A final error must not be retried.
type final struct{ err error }

func (f final) Error() string { return f.err.Error() }

// Repeat calls do, and retries while that may help, see [Again], until the deadline until. do
// gets the error of the try before, and note the reason for each retry.
func Repeat(ctx context.Context, until time.Time, note func(text string) error, do func(after error) error) error {
	var busy, odd, changed int
	var last error
	for {
		err := do(last)
		if last = err; err == nil {
			return nil
		}
		if f, ok := errors.AsType[final](err); ok {
			return f.err
		}
		e, ok := errors.AsType[*providers.Error](err)
		if !ok || ctx.Err() != nil {
			return err
		}
		wait, text := time.Duration(0), e.Again
		switch {
		case e.Changed && changed < maxChanges:
			changed++
		case e.Again != "":
			if odd++; odd > maxAgain || e.Changed {
				return err
			}
		default:
			wait = pauseAfter(e, busy)
			if wait == 0 || busy >= maxAgain || time.Until(until) < wait {
				return err
			}
			busy++
			text = fmt.Sprintf("status %d, asked again after %v", e.Status, wait.Round(time.Millisecond))
		}
		if err := note(text); err != nil {
			return err
		}
		if err := sleep(ctx, wait); err != nil {
			return gaveUp(e, err)
		}
	}
}

// pauseAfter returns the wait before a busy service is retried; 0 means no retry.
func pauseAfter(e *providers.Error, tries int) time.Duration {
	wait := firstPause
	switch {
	case e.Final, e.RetryAfter > maxBusy, e.Status == http.StatusNotImplemented:
		return 0
	case e.Status == http.StatusTooManyRequests, e.Status == http.StatusRequestTimeout, e.Status == http.StatusConflict:
		wait = limitPause
	case e.Status < 500:
		return 0
	}
	if e.RetryAfter > 0 {
		return e.RetryAfter
	}
	// Jitter, so that calls that failed together do not retry together.
	wait <<= tries
	return wait + rand.N(wait/4) //nolint:gosec // jitter is no secret
}

// sleep waits until the time has passed or the context ends.
func sleep(ctx context.Context, wait time.Duration) error {
	if wait == 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// gaveUp returns the error of a wait that was too long or cancelled.
func gaveUp(e *providers.Error, cause error) error {
	kind := providers.KindIncomplete
	if errors.Is(cause, context.DeadlineExceeded) {
		kind = providers.KindTimeout
	}
	return &providers.Error{Kind: kind, Provider: e.Provider, Model: e.Model, Err: cause}
}
