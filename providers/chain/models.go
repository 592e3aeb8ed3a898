package chain

import "context"

// Models lists what a configured provider's service has to offer; nil when the
// provider is not configured or lists none.
func (c *Chain) Models(ctx context.Context, name string) ([]string, error) {
	candidate, ok := c.candidates[name]
	if !ok || candidate.List == nil {
		return nil, nil
	}
	return candidate.List(ctx)
}
