package tape

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"

	"molar/eval/match"
	"molar/providers"
)

// A slot says which model call of which turn a request belongs to. It travels in the
// context between the two ends of this package: the wrapped provider, which knows
// the pass, and the transport below it, which sees only bytes.
type slot struct {
	turn    int
	pass    providers.Pass
	offered []Offered
}

type (
	turnKey struct{}
	passKey struct{}
)

// InTurn marks ctx as part of a turn, counted from 1.
func InTurn(ctx context.Context, turn int) context.Context {
	return context.WithValue(ctx, turnKey{}, turn)
}

func turnOf(ctx context.Context) int {
	turn, _ := ctx.Value(turnKey{}).(int)
	return turn
}

func slotOf(ctx context.Context) slot {
	req, ok := ctx.Value(passKey{}).(providers.Request)
	if !ok {
		return slot{turn: turnOf(ctx), pass: PassProbe}
	}
	s := slot{turn: turnOf(ctx), pass: req.Pass}
	for _, t := range req.Tools {
		s.offered = append(s.offered, Offered{Name: t.Name, Description: sha(t.Description), Schema: sha(match.CanonicalJSON(t.InputSchema))})
	}
	return s
}

// slotFor is slotOf for a request. A provider may look its model up in the middle of a
// call: that is a probe of its own, and no part of the pass.
func slotFor(req *http.Request) slot {
	s := slotOf(req.Context())
	if lookup(req.URL.Path) {
		s.pass, s.offered = PassProbe, nil
	}
	return s
}

// lookup reports whether an address tells of models rather than asking one.
func lookup(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return slices.ContainsFunc([]string{"/api/show", "/api/tags", "/api/ps", "/api/version", "/models"}, func(end string) bool {
		return strings.HasSuffix(path, end)
	})
}

// passing marks each call's context with its request, for the pass and the tools.
type passing struct{ providers.Provider }

func (p passing) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return p.Provider.Stream(context.WithValue(ctx, passKey{}, req), req)
}

// A counter numbers things in the order in which they begin.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}
