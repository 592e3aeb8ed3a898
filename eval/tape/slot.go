package tape

import (
	"context"
	"iter"

	"molar/providers"
)

// A slot says which model call of which turn a request belongs to. It travels in the
// context between the two ends of this package: the wrapped provider, which knows
// the pass, and the transport below it, which sees only bytes.
type slot struct {
	turn int
	pass providers.Pass
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

// slotOf is the slot of a request to an address. A provider may look its model up in the
// middle of a call: that is a probe of its own, and no part of the pass.
func slotOf(ctx context.Context, path string) slot {
	req, ok := ctx.Value(passKey{}).(providers.Request)
	if !ok || lookup(path) {
		return slot{turn: turnOf(ctx), pass: passProbe}
	}
	return slot{turn: turnOf(ctx), pass: req.Pass}
}

// passing marks each call's context with its request, for the pass and the tools.
type passing struct{ providers.Provider }

// Unwrap returns the provider itself.
func (p passing) Unwrap() providers.Provider { return p.Provider }

func (p passing) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return p.Provider.Stream(context.WithValue(ctx, passKey{}, req), req)
}
