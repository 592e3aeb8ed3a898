package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/providers"
)

// Pick chooses the route of a turn. A provider that is asked for by name is used
// or an error says why it cannot be; only auto, and a list that names it, end in
// the offline provider. Errors are, or hold, a [*providers.Error].
func (c *Chain) Pick(ctx context.Context, want Want) (providers.Route, error) {
	order := c.order
	if want.Provider != "" {
		order = []string{want.Provider}
	}
	if !c.known(order[0]) {
		return providers.Route{}, &providers.Error{Kind: providers.KindInvalid, Provider: order[0], Err: c.unknown(order[0])}
	}
	route, err := c.first(ctx, order)
	if err != nil || route.Offline {
		return route, err
	}
	route.Model = cmp.Or(want.Model, route.Model)
	route.SmallModel = cmp.Or(want.SmallModel, route.SmallModel)
	return route, nil
}

// Warm probes what the configured order needs, so that the first turn need not,
// and returns the route that a turn would take now.
func (c *Chain) Warm(ctx context.Context) (providers.Route, error) {
	route, err := c.Pick(ctx, Want{})
	if err == nil {
		c.log.InfoContext(ctx, "provider chosen", "provider", route.Provider.Name(), "model", route.Model, "why", route.Why)
	}
	return route, err
}

// first returns the first of the order that is ready.
func (c *Chain) first(ctx context.Context, order []string) (providers.Route, error) {
	var missed []error
	for _, name := range order {
		var route providers.Route
		var err error
		switch name {
		case Auto:
			route, err = c.auto(ctx)
		case Offline:
			route, err = c.quoting(cmp.Or(reasons(missed), "it is asked for"))
		default:
			route, err = c.named(ctx, name, len(order) > 1)
		}
		if err == nil {
			return route, nil
		}
		missed = append(missed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return providers.Route{}, errors.Join(missed...)
}

// auto takes whatever can be had.
func (c *Chain) auto(ctx context.Context) (providers.Route, error) {
	var missed []error
	for _, name := range autoOrder() {
		if _, configured := c.candidates[name]; !configured {
			continue
		}
		route, err := c.probe(ctx, name, c.timeout, true)
		if err == nil {
			route.Why = Auto + ": " + name + ": " + route.Why
			return route, nil
		}
		missed = append(missed, err)
	}
	if err := ctx.Err(); err != nil {
		return providers.Route{}, errors.Join(append(missed, err)...)
	}
	return c.quoting(Auto + ": " + cmp.Or(reasons(missed), "no provider is configured: set GEMINI_API_KEY or OPENAI_API_KEY, or start Ollama"))
}

// named takes the provider of that name. In a list its probe is as short as in
// auto, since there is something to turn to.
func (c *Chain) named(ctx context.Context, name string, listed bool) (providers.Route, error) {
	if _, configured := c.candidates[name]; !configured {
		return providers.Route{}, &providers.Error{Kind: providers.KindInvalid, Provider: name, Err: errNotConfigured(name)}
	}
	if listed {
		return c.probe(ctx, name, c.timeout, true)
	}
	return c.probe(ctx, name, explicitTimeout, false)
}

// errNotConfigured says how the provider of that name is configured.
func errNotConfigured(name string) error {
	switch name {
	case "gemini":
		return errors.New("not configured: set GEMINI_API_KEY")
	case "openai":
		return errors.New("not configured: set OPENAI_API_KEY")
	case "ollama":
		return errors.New("not configured: give llm.ollama in the config, or set OLLAMA_BASE_URL")
	}
	return fmt.Errorf("not configured: give llm.%s in the config", name)
}

// quoting is the route of the offline provider.
func (c *Chain) quoting(why string) (providers.Route, error) {
	if c.offline == nil {
		return providers.Route{}, &providers.Error{Kind: providers.KindUnavailable, Provider: Offline, Err: errors.New(why)}
	}
	return providers.Route{Provider: c.offline, Why: why, Offline: true}, nil
}

// reasons joins what was missed into one line.
func reasons(errs []error) string {
	texts := make([]string, 0, len(errs))
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return strings.Join(slices.Compact(texts), "; ")
}
