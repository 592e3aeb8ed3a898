package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"molar/providers"
	"molar/schemas"
)

// A line is the provider of one route. Each call goes to the route's candidate and,
// while nothing has been put out, on to the next one that is ready.
//
// What fell over once is passed over for the rest of the route, which is one turn:
// its later calls need not wait for the same failure again.
type line struct {
	chain *Chain
	// first is what the route's candidate, steps[0], was picked with. The other
	// steps are the rest of the order.
	first providers.Route
	steps []step

	mu     sync.Mutex
	failed map[string]error
}

// A step is one provider of an order. Those that auto stands for are marked.
type step struct {
	name string
	auto bool
}

// steps writes out an order and what auto stands for in it.
func (c *Chain) steps(order []string) []step {
	var steps []step
	add := func(name string, auto bool) {
		if !slices.ContainsFunc(steps, func(s step) bool { return s.name == name }) {
			steps = append(steps, step{name, auto})
		}
	}
	for _, name := range order {
		if name != Auto {
			add(name, false)
			continue
		}
		for _, name := range autoOrder() {
			if _, configured := c.candidates[name]; configured {
				add(name, true)
			}
		}
		add(Offline, true)
	}
	return steps
}

// lineUp is the line of a route that was found for one of the steps. Auto's offline
// is not part of it: a turn does not sink to quoting half way.
func (c *Chain) lineUp(chosen step, route providers.Route, steps []step) *line {
	l := &line{chain: c, first: route, steps: []step{chosen}, failed: map[string]error{}}
	for _, s := range steps {
		if _, configured := c.candidates[s.name]; s.name != chosen.name && (configured || s.name == Offline && !s.auto) {
			l.steps = append(l.steps, s)
		}
	}
	return l
}

// route is the route over the line; paused are the candidates that their breakers
// keep out of it.
func (l *line) route(paused []error) providers.Route {
	route := l.first
	route.Provider = l
	if len(paused) > 0 {
		route.Why += "; " + reasons(paused)
	}
	return route
}

// Name returns the name of the route's candidate.
func (l *line) Name() string { return l.steps[0].name }

// LeftOut returns which of the tools the route's candidate leaves out, and why.
func (l *line) LeftOut(tools []schemas.ToolInfo) map[string]string {
	return providers.LeftOut(l.first.Provider, tools)
}

// Window returns the window of the model at the first candidate that has not failed; one
// that is asked in its place uses its own model.
func (l *line) Window(ctx context.Context, model string) int {
	return l.window(ctx, model, providers.Window)
}

// MaxWindow is the same of the largest window.
func (l *line) MaxWindow(ctx context.Context, model string) int {
	return l.window(ctx, model, providers.MaxWindow)
}

func (l *line) window(ctx context.Context, model string, of func(context.Context, providers.Provider, string) int) int {
	for _, s := range l.steps {
		if s.name == Offline || l.failure(s.name) != nil {
			continue
		}
		if s.name == l.Name() {
			return of(ctx, l.first.Provider, model)
		}
		if route, err := l.chain.at(ctx, s, true); err == nil {
			return of(ctx, route.Provider, route.Model)
		}
	}
	return 0
}

// Stream makes one call, with the first candidate that can take it.
func (l *line) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		var missed []error
		var last *providers.Error
		for _, s := range l.steps {
			a, err := l.attempt(ctx, s, &req, missed)
			if err == nil {
				if last != nil {
					l.chain.log.WarnContext(ctx, "another provider is asked", "provider", s.name, "model", a.req.Model, "why", a.why)
				}
				if last = a.run(ctx, yield); last == nil {
					return
				}
				err = last
			}
			missed = append(missed, err)
		}
		if last != nil {
			others := slices.DeleteFunc(missed, func(err error) bool { return errors.Is(err, error(last)) })
			yield(providers.Chunk{}, besides(last, reasons(others)))
			return
		}
		if last = l.leastBad(ctx, &req, missed, yield); last != nil {
			yield(providers.Chunk{}, last)
		}
	}
}

// attempt prepares the call of a candidate, or says why it is passed over.
func (l *line) attempt(ctx context.Context, s step, req *providers.Request, missed []error) (*attempt, error) {
	if err := l.failure(s.name); err != nil {
		return nil, err
	}
	a, err := l.prepare(ctx, s, req, missed)
	if err != nil || a.breaker == nil {
		return a, err
	}
	a.trial, err = a.breaker.begin(ctx)
	return a, err
}

// prepare is attempt without asking what failed before.
func (l *line) prepare(ctx context.Context, s step, asked *providers.Request, missed []error) (*attempt, error) {
	route, req := l.first, *asked
	if s.name == Offline && (len(req.Schema) > 0 || req.Pass.IsSmall()) {
		return nil, errors.New("offline: has no model that could judge or summarise")
	}
	if s.name != l.Name() {
		var err error
		if route, err = l.chain.at(ctx, s, true); err != nil {
			return nil, err
		}
		req.Model = route.Model
		if req.Pass.IsSmall() {
			req.Model = route.SmallModel
		}
	}
	return &attempt{line: l, name: s.name, provider: route.Provider, req: req, breaker: l.chain.breakers[s.name], why: reasons(missed)}, nil
}

// leastBad makes the call when every candidate was passed over, with the one that
// is to be tried again first.
func (l *line) leastBad(ctx context.Context, req *providers.Request, missed []error, yield func(providers.Chunk, error) bool) *providers.Error {
	var best *attempt
	for _, s := range l.steps {
		a, err := l.prepare(ctx, s, req, missed)
		if err != nil || a.breaker == nil {
			continue
		}
		if best == nil || a.breaker.pausedUntil().Before(best.breaker.pausedUntil()) {
			best = a
		}
	}
	return best.run(ctx, yield)
}

func (l *line) failure(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed[name]
}

// fellOver notes a candidate's failure for the calls to come. A model that is
// missing says nothing about the candidate's other model.
func (l *line) fellOver(name string, err *providers.Error) {
	if err.Kind == providers.KindModelNotFound {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed[name] = err
}

// besides is the error of a call after others had failed or were passed over: it is
// the last one's, and tells why.
func besides(last *providers.Error, why string) error {
	if why == "" {
		return last
	}
	e := *last
	e.Err = fmt.Errorf("%w (besides, %s)", cmp.Or(last.Err, errors.New(string(last.Kind))), why)
	return &e
}
