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
	// maxAgain is how often a call is made again because of its answer, and how often
	// because the service is busy.
	maxAgain = 2
	// maxChanges bounds how often a provider may learn something from a refusal.
	maxChanges = 8
	// maxBusy is the longest wait for a busy service: a longer one is for the person to
	// know of. firstPause is the first wait for one that names none, limitPause where it
	// has had too much of this client; each later one is twice as long.
	maxBusy    = 30 * time.Second
	firstPause = time.Second
	limitPause = 2 * time.Second
)

// Again returns a provider that makes the calls of p once more while that may help: at
// once after an answer that is none, or a refusal from which p has learnt, and after a
// wait while the service is busy. Nothing is asked again once text or a call came. First
// bounds the wait for the first output, over all tries and the waits between them; zero
// means [wire.DefaultFirst].
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

// Unwrap returns the provider itself.
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
	begun bool          // text or a call came
	spent schemas.Usage // by the tries before
	usage schemas.Usage // by this one
}

// try makes the call once. Its error is a [final] one when nothing may be asked again.
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
		t.begun = t.begun || chunk.Text != "" || chunk.Call != nil
		if err := t.emit(chunk); err != nil {
			return final{err}
		}
	}
	return nil
}

func (t *tries) failed(err error) error {
	if t.begun {
		return final{err}
	}
	return err
}

func (t *tries) note(text string) error { return t.emit(providers.Chunk{Note: text}) }

// A final error is not to be asked about again.
type final struct{ err error }

func (f final) Error() string { return f.err.Error() }

// Repeat does something and does it again while that may help, see [Again], and no later
// than until. Do is given the error of the try before, and note is told why there is
// another.
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

// pauseAfter returns how long to wait before a busy service is asked again; 0 means not at
// all.
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
	// Spread, so that calls that failed together do not come back together.
	wait <<= tries
	return wait + rand.N(wait/4) //nolint:gosec // jitter is no secret
}

// sleep waits, unless the context ends.
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

// gaveUp is the error of a wait that was not waited for.
func gaveUp(e *providers.Error, cause error) error {
	kind := providers.KindIncomplete
	if errors.Is(cause, context.DeadlineExceeded) {
		kind = providers.KindTimeout
	}
	return &providers.Error{Kind: kind, Provider: e.Provider, Model: e.Model, Err: cause}
}
