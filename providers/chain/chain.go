// Package chain chooses the provider and models of a turn: the one that is asked
// for, the first of a list that is ready, or with "auto" whatever can be had,
// which ends in the offline provider. When a call fails before its first output it
// goes on to the next one of the list.
//
// It owns the probing of providers, what is remembered of it and of their failures,
// all asking again, and the rules of the fall-over. It must not know any provider's
// wire; candidates are given to it ready made.
package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"molar/providers"
)

// The names with a meaning of their own.
const (
	Auto    = "auto"
	Offline = "offline"
)

// ProbeTimeout bounds one probe in auto unless the candidate says otherwise, reprobe is the least time between two while
// nothing is found.
const (
	ProbeTimeout = 300 * time.Millisecond
	reprobe      = 10 * time.Second
)

// explicitTimeout bounds the probe of a provider that is asked for by name: it
// has no substitute, so it gets more time than in auto.
const explicitTimeout = 5 * time.Second

// autoOrder is the order in which auto looks for a provider.
func autoOrder() []string { return []string{"gemini", "openai", "ollama"} }

// A Candidate is a configured provider.
type Candidate struct {
	Provider providers.Provider
	// Model and SmallModel are used when Ready is nil. An empty SmallModel means
	// Model.
	Model, SmallModel string
	// Ready says which models can be used now, and why. Nil means that the provider
	// is taken to be ready. An error of [providers.KindModelNotFound] means that a model
	// that a person named is not there; auto does not turn to offline then.
	Ready func(ctx context.Context) (model, small, why string, err error)
	// Wait bounds Ready where there are others to turn to; zero means [ProbeTimeout].
	Wait time.Duration
	// List names the models of the service, when that is cheap to ask; may be nil.
	List func(ctx context.Context) ([]string, error)
	// Has returns an error of [providers.KindModelNotFound] for a model that the service
	// does not have, when that is cheap to ask; may be nil.
	Has func(ctx context.Context, model string) error
	// First bounds the wait for the first output of a call, over all tries; zero means
	// 180 s.
	First time.Duration
	// Queues is set for a provider that runs one request after the other.
	Queues bool
}

// Config of a [Chain].
type Config struct {
	// Order lists the providers' names, first choice first; empty or "auto" means
	// automatic choice.
	Order []string
	// Candidates are the configured providers by name. One without its key is not
	// among them.
	Candidates map[string]Candidate
	// Offline answers when auto finds nothing, or by its name.
	Offline providers.Provider
	Logger  *slog.Logger
}

// Want is what a turn asks for. Empty fields leave the choice to the chain.
type Want struct {
	Provider, Model, SmallModel string
}

// A Chain chooses providers. It may be used by many goroutines.
type Chain struct {
	order      []string
	candidates map[string]Candidate
	offline    providers.Provider
	probes     map[string]*probe
	breakers   map[string]*breaker
	log        *slog.Logger
}

// New checks cfg and returns a chain. It probes nothing yet; see [Chain.Warm].
func New(cfg Config) (*Chain, error) {
	c := &Chain{
		order:      slices.Clone(cfg.Order),
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
		candidate.Provider = Again(candidate.Provider, candidate.First)
		c.candidates[name] = candidate
	}
	for _, name := range c.order {
		if !c.known(name) {
			errs = append(errs, c.unknown(name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	c.fill()
	return c, nil
}

// fill completes the settings and makes what each candidate is remembered by.
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

// known reports whether a name may stand in the configuration or a request.
func (c *Chain) known(name string) bool {
	_, configured := c.candidates[name]
	return configured || name == Auto || name == Offline || slices.Contains(autoOrder(), name)
}

func (c *Chain) unknown(name string) error {
	names := append(autoOrder(), Auto, Offline)
	for name := range c.candidates {
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Errorf("provider %q: not known; choose one of %s", name, strings.Join(slices.Compact(names), ", "))
}
