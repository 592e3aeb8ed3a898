package chain

import (
	"context"

	"molar/providers"
)

// Models returns the models of a configured provider's service; nil if the provider is not
// configured or lists none.
func (c *Chain) Models(ctx context.Context, name string) ([]string, error) {
	candidate, ok := c.candidates[name]
	if !ok || candidate.List == nil {
		return nil, nil
	}
	return candidate.List(ctx)
}

// CheckModel returns an error of [providers.KindModelNotFound] if a configured provider's service
// answers and lacks the model, else nil.
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
