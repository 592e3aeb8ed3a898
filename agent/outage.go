package agent

import (
	"context"
	"iter"

	"molar/providers"
)

// An outage stands for the provider of a turn that can reach no model. The turn goes on as far as
// code takes it: an emergency's notice is shown, and a question that belongs to the topic is kept.
type outage struct{ err *providers.Error }

// Name returns the name of the provider that cannot be reached.
func (o outage) Name() string { return o.err.Provider }

// Stream fails.
func (o outage) Stream(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) { yield(providers.Chunk{}, o.err) }
}

// isOutage reports whether an error means that no model can be reached.
func isOutage(kind providers.Kind) bool {
	switch kind {
	case providers.KindUnavailable, providers.KindTimeout, providers.KindQuota, providers.KindAuth:
		return true
	default:
		return false
	}
}
