// Package chain chooses the provider and models of a turn: the named one, the first of a list
// that is ready, or with "auto" any available one, with the offline provider last. If a call
// fails before its first output, it falls back to the next of the list.
//
// It owns the probes of providers, the memory of their results and failures, all retries, and the
// fallback rules. It must not depend on any provider's wire; it gets ready-made candidates.
package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"molar/providers"
	"molar/schemas"
)

// Names with a special meaning.
const (
	Auto    = "auto"
	Offline = providers.Offline
)

// probeTimeout bounds one probe in auto unless the candidate overrides it; reprobe is the least
// time between two while none is ready.
const (
	probeTimeout = 300 * time.Millisecond
	reprobe      = 10 * time.Second
)

// explicitTimeout bounds the probe of a provider requested by name: it has no fallback, so it
// gets more time than in auto.
const explicitTimeout = 5 * time.Second

// A Candidate is a configured provider.
type Candidate struct {
	Provider providers.Provider
	// Model and SmallModel are used if Ready is nil. An empty SmallModel means Model.
	Model, SmallModel string
	// Ready returns the models that can be used now, and why. Nil means that the provider is
	// always ready. An error of [providers.KindModelNotFound] means that a model that a person
	// named does not exist; auto then does not fall back to offline.
	Ready func(ctx context.Context) (model, small, why string, err error)
	// Wait bounds Ready if there are fallbacks; zero means [probeTimeout].
	Wait time.Duration
	// List returns the service's models if that is cheap; may be nil.
	List func(ctx context.Context) ([]string, error)
	// Has returns an error of [providers.KindModelNotFound] for a model that the service lacks,
	// if that is cheap; may be nil.
	Has func(ctx context.Context, model string) error
	// First bounds the wait for the first output of a call, over all retries; zero means 180 s.
	First time.Duration
	// Queues is set for a provider that handles one request at a time.
	Queues bool
	// Price returns the price of a model; it is not set for a model without a price. Nil means none.
	Price func(model string) schemas.Price
}

// Config of a [Chain].
type Config struct {
	// Order lists the providers' names, first choice first; empty or "auto" means
	// automatic choice.
	Order []string
	// Small names the candidate of the small passes; empty means that of the turn. If it fails, that
	// of the turn takes its place.
	Small string
	// Candidates are the configured providers by name, without those that lack their key.
	Candidates map[string]Candidate
	// Missing says for providers that are no candidates how to configure them, by name.
	Missing map[string]string
	// Meter, if set, wraps the providers of all candidates with all their retries. Only what it lets through is asked.
	Meter func(providers.Provider, func(model string) schemas.Price) providers.Provider
	// Offline answers if auto finds nothing else, or if it is named.
	Offline providers.Provider
	Logger  *slog.Logger
}

// Want is what a turn requests. Empty fields leave the choice to the chain.
type Want struct {
	Provider, Model, SmallModel string
}

// A Chain chooses providers. It is safe for concurrent use.
type Chain struct {
	order      []string
	small      string
	candidates map[string]Candidate
	missing    map[string]string
	offline    providers.Provider
	probes     map[string]*probe
	breakers   map[string]*breaker
	log        *slog.Logger
}

// New checks cfg and returns a chain. It probes nothing yet; see [Chain.Warm].
func New(cfg Config) (*Chain, error) {
	c := &Chain{
		order:      slices.Clone(cfg.Order),
		small:      cfg.Small,
		missing:    cfg.Missing,
		candidates: make(map[string]Candidate, len(cfg.Candidates)),
		offline:    cfg.Offline,
		probes:     map[string]*probe{},
		breakers:   map[string]*breaker{},
		log:        cfg.Logger,
	}
	var errs []error
	for name, candidate := range cfg.Candidates {
		if candidate.Provider == nil {
			errs = append(errs, fmt.Errorf("provider %q: none given", name))
			continue
		}
		if candidate.Price != nil {
			candidate.Provider = priced{candidate.Provider, candidate.Price}
		}
		candidate.Provider = Again(candidate.Provider, candidate.First)
		if cfg.Meter != nil {
			candidate.Provider = cfg.Meter(candidate.Provider, candidate.Price)
		}
		c.candidates[name] = candidate
	}
	for _, name := range c.order {
		if !c.known(name) {
			errs = append(errs, c.unknown(name))
		}
	}
	if c.small != "" && (!c.known(c.small) || c.small == Auto || c.small == Offline) {
		errs = append(errs, c.unknown(c.small))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	c.fill()
	return c, nil
}

// fill sets defaults and creates each candidate's probe and breaker.
func (c *Chain) fill() {
	if len(c.order) == 0 {
		c.order = []string{Auto}
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	for name := range c.candidates {
		c.probes[name] = newProbe()
		c.breakers[name] = &breaker{name: name, log: c.log}
	}
}

// known reports whether a name is valid in the configuration or a request.
func (c *Chain) known(name string) bool {
	_, configured := c.candidates[name]
	_, missing := c.missing[name]
	return configured || missing || name == Auto || name == Offline || slices.Contains(providers.WithModels(), name)
}

func (c *Chain) unknown(name string) error {
	names := append(providers.Names(), Auto)
	names = slices.AppendSeq(names, maps.Keys(c.candidates))
	names = slices.AppendSeq(names, maps.Keys(c.missing))
	slices.Sort(names)
	return fmt.Errorf("provider %q: not known; choose one of %s", name, strings.Join(slices.Compact(names), ", "))
}
