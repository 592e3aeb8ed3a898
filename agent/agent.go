package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"molar/agent/emergency"
	"molar/agent/guardrail"
	"molar/agent/prompts"
	"molar/toolhandler"
)

// Limits bound a turn. Zero values mean the defaults.
type Limits struct {
	// Rounds of tool calls: 8.
	Rounds int
	// Calls of tools: 16. ToolTime for all of them: 120 s.
	Calls    int
	ToolTime time.Duration
	// AttachWait is how long a turn waits for servers that are still starting: 5 s.
	AttachWait time.Duration
	// Offered is how many tools a model is offered: 128.
	Offered int
	// MemoryWait bounds the read of the conversation: 5 s.
	MemoryWait time.Duration
	// ResultTokens is how much of one tool result a model sees, in tokens of about
	// four bytes: 16,000.
	ResultTokens int
	// Uncovered is from how many messages on that no summary covers a turn first
	// summarises them: 10.
	Uncovered int
	// InFlight is how many turns may run at once; 0 means any number.
	InFlight int
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	setTime := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.Rounds, 8)
	set(&l.Calls, toolhandler.DefaultCalls)
	set(&l.Offered, 128)
	set(&l.ResultTokens, 16_000)
	set(&l.Uncovered, 10)
	setTime(&l.ToolTime, toolhandler.DefaultTime)
	setTime(&l.AttachWait, 5*time.Second)
	setTime(&l.MemoryWait, 5*time.Second)
	return l
}

// Config configures an [Agent].
type Config struct {
	Assistants []Assistant
	// Default names the assistant of turns that name none.
	Default string
	Models  Models
	Tools   Tools
	Handler *toolhandler.Handler
	// Memory is nil when nothing is remembered.
	Memory Memory
	// Guards are the guardrails by topic.
	Guards map[string]*guardrail.Guard
	// Prompts is nil when no server's prompts are used.
	Prompts Prompts
	// Pauses is nil when turns that wait for the client's tools are not kept; they
	// then continue from what the client sends.
	Pauses Pauses
	// Recorder is nil when no traces are kept.
	Recorder Recorder
	// Observer is nil when nobody counts.
	Observer Observer
	// Rank chooses among more tools than a model is offered; nil keeps their order.
	Rank   Ranker
	Limits Limits
	// Lacking says of search tools that this host can have and does not why, and what
	// to do about it.
	Lacking map[string]string
	// Summaries is nil when nothing is summarised.
	Summaries Summaries
	Logger    *slog.Logger
	Now       func() time.Time
}

// An Agent runs turns. It is safe for concurrent use.
type Agent struct {
	cfg        Config
	assistants map[string]Assistant
	prompts    *prompts.Prompts
	// emergencies by topic and secrets by assistant, each built at its first use.
	emergencies map[string]func() *emergency.Detector
	secrets     map[string]func() *secret
	orders      func() *orders
	warm        warmth
	log         *slog.Logger
	running     atomic.Int64
}

// New checks the configuration as a whole and returns an agent.
func New(cfg Config) (*Agent, error) {
	a := &Agent{cfg: cfg, assistants: make(map[string]Assistant), log: cfg.Logger}
	var faults []error
	if cfg.Models == nil || cfg.Tools == nil || cfg.Handler == nil {
		faults = append(faults, errors.New("agent needs models, tools and a tool handler"))
	}
	for _, as := range cfg.Assistants {
		faults = append(faults, as.validate())
		if as.Topic != "" && cfg.Guards[as.Topic] == nil {
			faults = append(faults, fmt.Errorf("assistant %q: there is no topic %q", as.Name, as.Topic))
		}
		if _, twice := a.assistants[as.Name]; twice {
			faults = append(faults, fmt.Errorf("assistant %q is defined twice", as.Name))
		}
		a.assistants[as.Name] = as
	}
	if _, ok := a.assistants[cfg.Default]; !ok {
		faults = append(faults, fmt.Errorf("default assistant %q is not defined", cfg.Default))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	var err error
	if a.prompts, err = prompts.New(); err != nil {
		return nil, err
	}
	a.emergencies, a.secrets = emergenciesOf(cfg.Assistants), secretsOf(a.prompts, cfg.Assistants)
	a.orders = sync.OnceValue(newOrders)
	a.cfg.Limits = cfg.Limits.withDefaults()
	a.cfg.Assistants = slices.Clone(cfg.Assistants)
	if a.cfg.Now == nil {
		a.cfg.Now = time.Now
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	return a, nil
}

// Assistants returns the configured assistants, in their order.
func (a *Agent) Assistants() []Assistant { return slices.Clone(a.cfg.Assistants) }

// Run answers one turn and yields its events as they happen. The sequence is used
// once. A turn that fails yields one error, last: an error of this package, or a
// providers.Error. Breaking off stops the model and the tools; what was answered
// until then is saved as interrupted.
func (a *Agent) Run(ctx context.Context, t Turn) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if t.ID == "" {
			t.ID = uuid.NewString()
		}
		fresh := t.ConversationID == ""
		if fresh {
			t.ConversationID = "chat_" + uuid.NewString()
		}
		defer a.running.Add(-1)
		if n := a.running.Add(1); a.cfg.Limits.InFlight > 0 && n > int64(a.cfg.Limits.InFlight) {
			yield(Event{}, fmt.Errorf("%w: %d turns are running already; try again in a moment", ErrUnavailable, n-1))
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r := newRun(a, t, yield)
		r.fresh = fresh
		err := r.answerTurn(ctx)
		cancel()
		r.background.Wait()
		r.close(ctx, err)
		if err != nil && !errors.Is(err, errStopped) {
			yield(Event{}, err)
		}
	}
}
