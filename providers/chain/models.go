package chain

import (
	"context"

	"molar/providers"
)

// Models lists what a configured provider's service has to offer; nil when the
// provider is not configured or lists none.
func (c *Chain) Models(ctx context.Context, name string) ([]string, error) {
	candidate, ok := c.candidates[name]
	if !ok || candidate.List == nil {
		return nil, nil
	}
	return candidate.List(ctx)
}

// CheckModel returns an error of [providers.KindModelNotFound] when the service of a
// configured provider answers and does not have the model, and nil else.
func (c *Chain) CheckModel(ctx context.Context, name, model string) error {
	candidate, ok := c.candidates[name]
	if !ok || candidate.Has == nil {
		return nil
	}
	if err := candidate.Has(ctx, model); providers.KindOf(err) == providers.KindModelNotFound {
		return err
	}
	return nil
}
