package chain

import (
	"cmp"
	"context"
	"sync"
	"time"

	"molar/providers"
)

// A probe remembers whether a candidate is ready. Ready stays ready: a later fault is reported by
// the model call, with its own kind.
type probe struct {
	// turn holds one token: its holder asks the provider.
	turn chan struct{}

	mu    sync.Mutex
	asked time.Time // zero before the first answer
	route providers.Route
	err   error
}

func newProbe() *probe { return &probe{turn: make(chan struct{}, 1)} }

// last returns the last answer; asked is zero if there is none.
func (p *probe) last() (route providers.Route, asked time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.route, p.asked, p.err
}

func (p *probe) set(route providers.Route, asked time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.route, p.asked, p.err = route, asked, err
}

// probe returns the route over a candidate and asks it if needed. With stale, a failure stays
// valid until the next probe is due, and while another turn asks.
func (c *Chain) probe(ctx context.Context, name string, timeout time.Duration, stale bool) (providers.Route, error) {
	candidate, p := c.candidates[name], c.probes[name]
	if candidate.Ready == nil {
		return route(candidate, candidate.Model, candidate.SmallModel, "it is configured"), nil
	}
	if route, ok, err := c.settled(p, stale); ok {
		return route, err
	}
	if _, asked, err := p.last(); stale && !asked.IsZero() {
		select {
		case p.turn <- struct{}{}:
		default:
			return providers.Route{}, err
		}
	} else {
		select {
		case p.turn <- struct{}{}:
		case <-ctx.Done():
			return providers.Route{}, cancelled(ctx, name)
		}
	}
	defer func() { <-p.turn }()
	if route, ok, err := c.settled(p, stale); ok {
		return route, err
	}
	return c.ask(ctx, name, timeout)
}

// settled returns the last answer, and whether it is still valid.
func (c *Chain) settled(p *probe, stale bool) (providers.Route, bool, error) {
	route, asked, err := p.last()
	holds := !asked.IsZero() && (err == nil || stale && time.Since(asked) < reprobe)
	return route, holds, err
}

// ask asks the candidate. It finishes even if the asking turn is cancelled, because all turns
// share the answer.
func (c *Chain) ask(ctx context.Context, name string, timeout time.Duration) (providers.Route, error) {
	candidate, p := c.candidates[name], c.probes[name]
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	model, small, why, err := candidate.Ready(ctx)
	if err != nil {
		if _, asked, _ := p.last(); asked.IsZero() {
			c.log.InfoContext(ctx, "provider is not ready", "provider", name, "reason", err)
		}
		p.set(providers.Route{}, time.Now(), err)
		return providers.Route{}, err
	}
	found := route(candidate, model, small, why)
	c.log.InfoContext(ctx, "provider is ready", "provider", name, "model", found.Model, "small_model", found.SmallModel)
	p.set(found, time.Now(), nil)
	return found, nil
}

func route(candidate Candidate, model, small, why string) providers.Route {
	return providers.Route{
		Provider: candidate.Provider, Model: model, SmallModel: cmp.Or(small, model), Why: why, Queues: candidate.Queues,
	}
}

func cancelled(ctx context.Context, name string) error {
	return &providers.Error{Kind: providers.KindIncomplete, Provider: name, Err: context.Cause(ctx)}
}
