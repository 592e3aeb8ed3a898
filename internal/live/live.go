package live

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"molar/agent/subject"
	"molar/internal/text"
	"molar/providers"
)

// Defaults of [Config].
const (
	DefaultLimit     = 3 * time.Minute
	DefaultMaxPrompt = 32 << 10
)

// minPrompt is the smallest largest prompt that makes sense, in tokens.
const minPrompt = 1 << 10

// Config says which model is tried, and how far.
type Config struct {
	// Pick returns the route to try. It is called for each conversation, as a turn does, since the
	// calls of a route avoid a provider that failed once.
	Pick func(context.Context) (providers.Route, error)
	// Guards are those of the assistants' topics, whose examples the small model judges.
	Guards []*subject.Guard
	// Limit bounds each check; zero means [DefaultLimit].
	Limit time.Duration
	// MaxPrompt is the size of the largest prompt, in tokens; zero means [DefaultMaxPrompt].
	MaxPrompt int
	// Section is the provider's section in the config file, such as "llm.openai", and WindowKey the
	// key in it that limits the prompt. Advice names them.
	Section, WindowKey string
}

// A Trial tries a model once.
type Trial struct {
	checks []check
	model  *model
	limit  time.Duration
}

// New returns a trial. It calls no model yet.
func New(c Config) (*Trial, error) {
	switch {
	case c.Pick == nil:
		return nil, errors.New("a trial needs a model to try")
	case c.Limit < 0:
		return nil, fmt.Errorf("the time limit of a check is %s: use a positive duration", c.Limit)
	case c.MaxPrompt != 0 && c.MaxPrompt < minPrompt:
		return nil, fmt.Errorf("the largest prompt is %d tokens: use %d or more", c.MaxPrompt, minPrompt)
	}
	if c.Limit == 0 {
		c.Limit = DefaultLimit
	}
	if c.MaxPrompt == 0 {
		c.MaxPrompt = DefaultMaxPrompt
	}
	return &Trial{checks: checks(c), model: &model{pick: c.Pick}, limit: c.Limit}, nil
}

// A check is one thing that a model is tried for.
type check struct {
	name string
	// tries is how often it is asked, for what a model may do or not do by chance; zero means once.
	tries int
	// calls and tokens are what one try takes, for the estimate; most of a model's tokens are those
	// of prompts.
	calls, tokens int
	// vital is set if a model that fails is of no use for tools.
	vital bool
	// tools is set if the overall verdict, which is about tools, names it.
	tools bool
	run   func(context.Context, *model) (outcome, error)
}

// An outcome is how a try went.
type outcome struct {
	level Level
	// seen is what the model did, in a few words; verdict is what that means for a person, and set
	// what to change in the config.
	seen, verdict, set string
}

// A Plan is about how much a trial takes.
type Plan struct {
	Checks int `json:"checks"`
	Calls  int `json:"calls"`
	// Tokens are those of prompts and answers together.
	Tokens int `json:"tokens"`
}

// Plan estimates what the trial takes.
func (t *Trial) Plan() Plan {
	p := Plan{Checks: len(t.checks)}
	for _, c := range t.checks {
		p.Calls += c.calls * max(c.tries, 1)
		p.Tokens += c.tokens * max(c.tries, 1)
	}
	return p
}

// Run runs the checks one after another and yields the result of each. It ends early if ctx ends,
// or if the service cannot be used. It may be ranged over once.
func (t *Trial) Run(ctx context.Context) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		faults := 0 // of the service, one after the other
		for _, c := range t.checks {
			if ctx.Err() != nil {
				return
			}
			result, err := t.try(ctx, c)
			if ctx.Err() != nil && err != nil { // it says nothing about the model
				return
			}
			if faults++; !isOfService(err) {
				faults = 0
			}
			if !yield(result) || faults > 1 || faults == 1 && t.model.answered == 0 {
				return
			}
		}
	}
}

// isOfService reports whether an error says nothing about the model.
func isOfService(err error) bool {
	switch providers.KindOf(err) {
	case providers.KindAuth, providers.KindModelNotFound, providers.KindUnavailable, providers.KindQuota:
		return true
	}
	return errors.Is(err, ErrNoModel)
}

// ErrNoModel is the error of a route without a model.
var ErrNoModel = errors.New("offline has no model: set the key of a service, or start Ollama")

// try runs all tries of a check. The error is that of a model call that failed.
func (t *Trial) try(ctx context.Context, c check) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	before, start := t.model.spent, time.Now()
	var all []outcome
	var failure error
	for range max(c.tries, 1) {
		o, err := c.run(ctx, t.model)
		if err != nil {
			failure = err
			o = outcome{level: Fails, seen: text.Truncate(err.Error(), 2*most)}
			switch {
			case isOfService(err):
				o.level, o.verdict = Skipped, "the service cannot be used: "+err.Error()
			case ctx.Err() != nil:
				o.seen = fmt.Sprintf("no answer within %s", t.limit)
			}
		}
		all = append(all, o)
		if err != nil {
			break
		}
	}
	r := sumUp(all)
	r.Check, r.tools = c.name, c.tools
	r.Took, r.Calls, r.Usage = time.Since(start), t.model.calls-before.calls, t.model.since(before)
	return r, failure
}

// sumUp returns the result of all tries: as seen in the worst one.
func sumUp(all []outcome) Result {
	var r Result
	worst := all[0]
	for _, o := range all {
		if o.level == OK {
			r.Passed++
		}
		if rank(o.level) > rank(worst.level) {
			worst = o
		}
	}
	r.Level, r.Seen, r.Verdict, r.Set, r.Tries = worst.level, worst.seen, worst.verdict, worst.set, len(all)
	if r.Passed > 0 && r.Level == Fails {
		r.Level = Weak
	}
	return r
}
