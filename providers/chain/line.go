package chain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"molar/providers"
	"molar/schemas"
)

// A line is the provider of one route with its fallbacks. Each call goes to the route's candidate
// and, before output starts, falls back to the next one that is ready.
//
// A candidate that failed is skipped for the rest of the route, which is one turn, so that later
// calls do not wait for the same failure.
type line struct {
	chain *Chain
	// first is the route of the picked candidate, steps[0]. The other steps are its fallbacks.
	first providers.Route
	steps []step

	mu     sync.Mutex
	failed map[string]error
}

// A step is one provider of an order. auto is set if it comes from expanding auto.
type step struct {
	name string
	auto bool
}

// steps returns the providers of an order, with auto expanded.
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
		for _, name := range providers.WithModels() {
			if _, configured := c.candidates[name]; configured {
				add(name, true)
			}
		}
		add(Offline, true)
	}
	return steps
}

// newLine returns the line of a route that was picked for a step. It never falls back to auto's
// offline provider in the middle of a turn.
func (c *Chain) newLine(chosen step, route providers.Route, steps []step) *line {
	l := &line{chain: c, first: route, steps: []step{chosen}, failed: map[string]error{}}
	for _, s := range steps {
		if _, configured := c.candidates[s.name]; s.name != chosen.name && (configured || s.name == Offline && !s.auto) {
			l.steps = append(l.steps, s)
		}
	}
	return l
}

// route returns the route over the line; paused are the errors of candidates with open breakers.
func (l *line) route(paused []error) providers.Route {
	route := l.first
	route.Provider = l
	if len(paused) > 0 {
		route.Why += "; " + reasons(paused)
	}
	return route
}

// Name returns the name of the route's first provider.
func (l *line) Name() string { return l.steps[0].name }

// LeftOut returns the tools that the route's candidate omits, and why.
func (l *line) LeftOut(tools []schemas.ToolInfo) map[string]string {
	return providers.LeftOut(l.first.Provider, tools)
}

// Window returns the model's window at the first candidate that has not failed; a fallback uses
// its own model.
func (l *line) Window(ctx context.Context, model string) int {
	return l.window(ctx, model, providers.Window)
}

// MaxWindow returns the largest window in the same way.
func (l *line) MaxWindow(ctx context.Context, model string) int {
	return l.window(ctx, model, providers.MaxWindow)
}

// PictureTokens returns the tokens of a picture at the route's candidate.
func (l *line) PictureTokens(width, height int) int {
	return providers.PictureTokens(l.first.Provider, width, height)
}

// TakesFile reports whether the API of the route's candidate takes a file of a media type.
func (l *line) TakesFile(media string) (takes, sure bool) {
	return providers.TakesFile(l.first.Provider, media)
}

// SchemaBesideTools reports whether the route's candidate takes a schema beside tools.
func (l *line) SchemaBesideTools(model string, schema json.RawMessage) bool {
	return providers.SchemaBesideTools(l.first.Provider, model, schema)
}

// EnforcesSchema reports whether the route's candidate enforces a schema.
func (l *line) EnforcesSchema(model string, schema json.RawMessage) bool {
	return providers.EnforcesSchema(l.first.Provider, model, schema)
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
		var last, overflow *providers.Error
		var spent schemas.Usage
		for _, s := range l.steps {
			if overflow != nil && !l.mayHold(ctx, s, overflow) {
				continue
			}
			a, err := l.attempt(ctx, s, &req, missed)
			if err == nil {
				if last != nil {
					l.chain.log.WarnContext(ctx, "another provider is asked", "provider", s.name, "model", a.req.Model, "why", a.why)
				}
				a.spent = spent
				if last = a.run(ctx, yield); last == nil {
					return
				}
				err, spent = last, spent.Add(a.usage)
				if overflow == nil && last.Kind == providers.KindContextLength {
					overflow = l.withWindow(ctx, s, last)
				}
			}
			missed = append(missed, err)
		}
		if overflow != nil { // the caller can shorten the prompt
			last = overflow
		}
		if last != nil {
			others := slices.DeleteFunc(missed, func(err error) bool { return isOf(err, last) })
			yield(providers.Chunk{}, withOtherErrors(last, reasons(others)))
			return
		}
		if last = l.soonestRetry(ctx, &req, missed, yield); last != nil {
			yield(providers.Chunk{}, last)
		}
	}
}

// withWindow returns the refusal of a prompt that is too long with the window of the candidate, if
// the refusal does not name it.
func (l *line) withWindow(ctx context.Context, s step, overflow *providers.Error) *providers.Error {
	window := l.windowOf(ctx, s, overflow.Model)
	if overflow.Window > 0 || window == 0 {
		return overflow
	}
	e := *overflow
	e.Window = window
	return &e
}

// mayHold reports whether a candidate may have room for a prompt that was too long for another: its
// window is larger, or is not known while the other's is.
func (l *line) mayHold(ctx context.Context, s step, overflow *providers.Error) bool {
	if s.name == Offline || overflow.Window == 0 {
		return false
	}
	window := l.windowOf(ctx, s, "")
	return window == 0 || window > overflow.Window
}

// windowOf returns the largest window of a candidate's model, 0 if it is not known. A fallback uses its own
// model.
func (l *line) windowOf(ctx context.Context, s step, model string) int {
	if s.name == l.Name() {
		return providers.MaxWindow(ctx, l.first.Provider, model)
	}
	route, err := l.chain.at(ctx, s, true)
	if err != nil {
		return 0
	}
	return providers.MaxWindow(ctx, route.Provider, route.Model)
}

// attempt prepares a candidate's call, or returns why it is skipped.
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

// prepare is attempt without the check for earlier failures.
func (l *line) prepare(ctx context.Context, s step, request *providers.Request, missed []error) (*attempt, error) {
	route, req := l.first, *request
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

// soonestRetry makes the call if every candidate was skipped, with the one whose pause ends
// first.
func (l *line) soonestRetry(ctx context.Context, req *providers.Request, missed []error, yield func(providers.Chunk, error) bool) *providers.Error {
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

// noteFailure records a candidate's failure for later calls of the turn. A fault of one call or one model
// does not rule out the candidate.
func (l *line) noteFailure(name string, err *providers.Error) {
	switch err.Kind {
	case providers.KindModelNotFound, providers.KindContextLength, providers.KindProtocol, providers.KindIncomplete:
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed[name] = err
}

// isOf reports whether an error is the last error of a call, possibly without its window.
func isOf(err error, last *providers.Error) bool {
	e, ok := errors.AsType[*providers.Error](err)
	return ok && e.Provider == last.Provider && e.Kind == last.Kind
}

// withOtherErrors returns the last error of a call, with why others had failed or were skipped.
func withOtherErrors(last *providers.Error, why string) error {
	if why == "" {
		return last
	}
	e := *last
	e.Err = fmt.Errorf("%w (besides, %s)", cmp.Or(last.Err, errors.New(string(last.Kind))), why)
	return &e
}
