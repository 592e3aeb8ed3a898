package chain

import (
	"context"
	"iter"

	"molar/providers"
	"molar/schemas"
)

// priced sets the cost of a provider's calls from the price of the model. Without one, the cost stays
// what the service reports.
type priced struct {
	providers.Provider
	of func(model string) schemas.Price
}

// Unwrap returns the wrapped provider.
func (p priced) Unwrap() providers.Provider { return p.Provider }

// Stream runs one model call.
func (p priced) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	price := p.of(req.Model)
	if !price.IsSet() {
		return p.Provider.Stream(ctx, req)
	}
	return func(yield func(providers.Chunk, error) bool) {
		for chunk, err := range p.Provider.Stream(ctx, req) {
			if chunk.Usage != nil {
				usage := *chunk.Usage
				usage.Cost = price.Of(usage)
				chunk.Usage = &usage
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}
