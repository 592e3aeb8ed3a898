package chain

import (
	"context"
	"errors"

	"molar/providers"
	"molar/schemas"
)

// An attempt is a call of one candidate.
type attempt struct {
	line     *line
	name     string
	provider providers.Provider
	req      providers.Request
	breaker  *breaker // nil for offline, which cannot fail
	trial    bool
	why      string // the failures before it
	// spent is the usage of the candidates before it, usage that of its own call.
	spent, usage schemas.Usage

	// held are chunks before the first output; they are dropped if the call fails over.
	held []providers.Chunk
	out  bool
}

// run makes the call. It returns a failure that another candidate may avoid, before which nothing
// was yielded; it yields anything else itself.
func (a *attempt) run(ctx context.Context, yield func(providers.Chunk, error) bool) *providers.Error {
	if a.trial {
		defer a.breaker.end()
	}
	for chunk, err := range a.provider.Stream(ctx, a.req) {
		if err != nil {
			return a.fail(ctx, chunk, err, yield)
		}
		if chunk.Usage != nil {
			a.usage = *chunk.Usage
			chunk.Usage = new(a.spent.Add(a.usage))
		}
		a.held = append(a.held, chunk)
		if !a.out && !isOutput(chunk) {
			continue
		}
		if !a.out {
			a.answered(ctx)
		}
		if !a.release(yield) {
			return nil
		}
	}
	if a.breaker != nil {
		a.breaker.succeeded(ctx)
	}
	if !a.out {
		a.answered(ctx)
		a.release(yield)
	}
	return nil
}

// isOutput reports whether a chunk is visible output. After output starts there is no fallback.
func isOutput(c providers.Chunk) bool { return c.Text != "" || c.Thinking != "" || c.Call != nil }

// answered records that the candidate answers, and notes it on the first chunk if it is not the
// route's.
func (a *attempt) answered(ctx context.Context) {
	a.out = true
	if a.breaker != nil {
		a.breaker.answered(ctx)
	}
	if a.name != a.line.Name() && len(a.held) > 0 {
		a.held[0].Switched = &providers.Switch{Provider: a.name, Model: a.req.Model, Why: a.why, Quotes: a.name == Offline}
	}
}

// release yields the held chunks.
func (a *attempt) release(yield func(providers.Chunk, error) bool) bool {
	for _, chunk := range a.held {
		if !yield(chunk, nil) {
			return false
		}
	}
	a.held = a.held[:0]
	return true
}

// fail returns the failure if another candidate may avoid it, else it yields it.
func (a *attempt) fail(ctx context.Context, chunk providers.Chunk, err error, yield func(providers.Chunk, error) bool) *providers.Error {
	e, ok := errors.AsType[*providers.Error](err)
	ok = ok && ctx.Err() == nil // a cancelled call does not count as the candidate's failure
	if ok && a.breaker != nil && isOutage(e.Kind) {
		a.breaker.failed(ctx, e)
	}
	if ok && !a.out && canFallBack(e.Kind) {
		a.line.noteFailure(a.name, e)
		return e
	}
	if ok && !a.out && e.Kind != providers.KindBudget {
		err = withOtherErrors(e, a.why)
	}
	if a.release(yield) {
		yield(chunk, err)
	}
	return nil
}

// canFallBack reports whether another provider may do better: it may unless the request itself is wrong, or nobody may be asked.
func canFallBack(kind providers.Kind) bool {
	return kind != providers.KindInvalid && kind != providers.KindBudget
}

// isOutage reports whether the whole service failed. A missing model does not count: a client may
// have asked for it.
func isOutage(kind providers.Kind) bool {
	switch kind {
	case providers.KindUnavailable, providers.KindTimeout, providers.KindQuota, providers.KindAuth, providers.KindIncomplete:
		return true
	default:
		return false
	}
}
