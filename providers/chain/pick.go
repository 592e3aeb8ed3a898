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

// Pick chooses the route of a turn. If a provider that was requested by name cannot be used, it
// returns an error; only auto, and a list that names it, fall back to the offline provider. Errors
// are, or wrap, a [*providers.Error].
//
// If a call fails before its first output, the route's provider falls back to the next one of the
// order. Use a route for one turn only: its later calls skip a provider that failed.
func (c *Chain) Pick(ctx context.Context, want Want) (providers.Route, error) {
	order := c.order
	if want.Provider != "" {
		order = []string{want.Provider}
	}
	if !c.known(order[0]) {
		return providers.Route{}, &providers.Error{Kind: providers.KindInvalid, Provider: order[0], Err: c.unknown(order[0])}
	}
	route, err := c.first(ctx, c.steps(order))
	if err != nil || route.Offline {
		return route, err
	}
	route.Model = cmp.Or(want.Model, route.Model)
	if want.SmallModel != "" {
		route.SmallModel = want.SmallModel
		return route, nil
	}
	return c.withSmall(ctx, route, order), nil
}

// withSmall returns the route with the candidate of the small passes, which is followed by those of
// the order.
func (c *Chain) withSmall(ctx context.Context, route providers.Route, order []string) providers.Route {
	if c.small == "" || c.small == route.Provider.Name() {
		return route
	}
	withModels := slices.DeleteFunc(c.steps(append([]string{c.small}, order...)), func(s step) bool { return s.name == Offline })
	small, err := c.first(ctx, withModels)
	if err != nil || small.Provider.Name() == route.Provider.Name() {
		return route
	}
	route.Small, route.SmallModel, route.SmallQueues, route.Queues = small.Provider, small.SmallModel, small.Queues, false
	return route
}

// Warm probes the providers of the configured order, so that the first turn need not, and returns
// the route that a turn would get now.
func (c *Chain) Warm(ctx context.Context) (providers.Route, error) {
	route, err := c.Pick(ctx, Want{})
	if err == nil {
		c.log.InfoContext(ctx, "provider chosen", "provider", route.Provider.Name(), "model", route.Model, "why", route.Why)
	}
	return route, err
}

// first returns the route of the first step that is ready and not paused. If all ready ones are
// paused, it returns the one whose pause ends first.
func (c *Chain) first(ctx context.Context, steps []step) (providers.Route, error) {
	var missed, paused []error
	var spare *line
	for _, s := range steps {
		if s.name == Offline && s.auto && spare != nil {
			continue
		}
		if s.name == Offline && s.auto {
			if err := missingModel(missed); err != nil {
				return providers.Route{}, err
			}
		}
		route, err := c.at(ctx, s, len(steps) > 1)
		if err == nil && s.name == Offline {
			route.Why = offlineWhy(s, missed)
			return route, nil
		}
		if err == nil {
			l := c.newLine(s, route, steps)
			if err = c.breakers[s.name].passes(); err == nil {
				return l.route(paused), nil
			}
			paused = append(paused, err)
			if spare == nil || c.breakers[s.name].pausedUntil().Before(c.breakers[spare.Name()].pausedUntil()) {
				spare = l
			}
		}
		missed = append(missed, err)
		if err := ctx.Err(); err != nil {
			return providers.Route{}, errors.Join(append(missed, err)...)
		}
	}
	if spare != nil {
		return spare.route(paused), nil
	}
	return providers.Route{}, errors.Join(missed...)
}

// missingModel returns the first error about a model that does not exist. A person named that
// model, and would mistake the offline provider's quotations for its answers.
func missingModel(missed []error) error {
	for _, err := range missed {
		if providers.KindOf(err) == providers.KindModelNotFound {
			return err
		}
	}
	return nil
}

// at returns the route over a step's provider, or an error if it is not ready. listed is set if the
// order has other steps: the probe then has a shorter timeout.
func (c *Chain) at(ctx context.Context, s step, listed bool) (providers.Route, error) {
	if s.name == Offline {
		if c.offline == nil {
			return providers.Route{}, &providers.Error{Kind: providers.KindUnavailable, Provider: Offline, Err: errors.New("not configured")}
		}
		return providers.Route{Provider: c.offline, Offline: true}, nil
	}
	candidate, configured := c.candidates[s.name]
	if !configured {
		return providers.Route{}, &providers.Error{Kind: providers.KindInvalid, Provider: s.name, Err: c.errNotConfigured(s.name)}
	}
	timeout := explicitTimeout
	if listed {
		timeout = cmp.Or(candidate.Wait, probeTimeout)
	}
	route, err := c.probe(ctx, s.name, timeout, listed)
	if err == nil && s.auto {
		route.Why = Auto + ": " + s.name + ": " + route.Why
	}
	return route, err
}

// offlineWhy returns why the offline provider was chosen.
func offlineWhy(s step, missed []error) string {
	if s.auto {
		return Auto + ": " + cmp.Or(reasons(missed), "no provider is configured: "+providers.HowToGetOne("set", "or", "start"))
	}
	return cmp.Or(reasons(missed), "it is asked for")
}

// errNotConfigured returns an error that names the setting which the provider needs.
func (c *Chain) errNotConfigured(name string) error {
	if how := c.missing[name]; how != "" {
		return errors.New("not configured: " + how)
	}
	if s, ok := providers.Find(name); ok && s.Setup != "" {
		return errors.New("not configured: " + s.Setup)
	}
	return fmt.Errorf("not configured: set llm.%s in the config", name)
}

// reasons joins the texts of errors into one line, without repetitions in a row.
func reasons(errs []error) string {
	texts := make([]string, 0, len(errs))
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return strings.Join(slices.Compact(texts), "; ")
}
