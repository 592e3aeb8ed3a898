package tape

import (
	"context"
	"iter"

	"molar/providers"
)

// A slot identifies the turn and pass of a model call. Context values carry it from the wrapped
// provider, which knows the pass, to the transport below, which sees only bytes.
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

// slotOf returns the slot of a request. A look-up of a model in the middle of a call is a probe,
// not part of the pass.
func slotOf(ctx context.Context, path string) slot {
	req, ok := ctx.Value(passKey{}).(providers.Request)
	if !ok || lookup(path) {
		return slot{turn: turnOf(ctx), pass: passProbe}
	}
	return slot{turn: turnOf(ctx), pass: req.Pass}
}

// passing adds each request to the context of its call, for the pass and the tools.
type passing struct{ providers.Provider }

// Unwrap returns the provider itself.
func (p passing) Unwrap() providers.Provider { return p.Provider }

func (p passing) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return p.Provider.Stream(context.WithValue(ctx, passKey{}, req), req)
}
