package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"molar/agent/answer"
	"molar/agent/journal"
	"molar/agent/offer"
	"molar/agent/prompts"
	"molar/agent/subject"
	"molar/schemas"
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
	// Offered is how many tools a model is offered: 128. ToolTokens is how many tokens
	// they may take: 8,000, or a quarter of what the model can have if that is less.
	Offered, ToolTokens int
	// ResultTokens is how much of one tool result a model is shown at first, in tokens of about four
	// bytes: 16,000, and at most a quarter of its window.
	ResultTokens int
	// ContextTokens is how many tokens of the conversation's newest exchanges a model is
	// shown verbatim: 16,000, and at most half of what its window leaves.
	ContextTokens int
	// KeptMessages is the most messages that are shown verbatim; 0 means any number.
	KeptMessages int
	// Unsummarised is from how many messages without a summary on an answer's is due, whatever the
	// assistant's setting; 0 means any number.
	Unsummarised int
	// InFlight is how many turns may run at once; 0 means any number.
	InFlight int
}

func (l Limits) withDefaults() Limits {
	l.Rounds = cmp.Or(l.Rounds, 8)
	l.Calls = cmp.Or(l.Calls, toolhandler.DefaultCalls)
	l.ToolTime = cmp.Or(l.ToolTime, toolhandler.DefaultTime)
	l.AttachWait = cmp.Or(l.AttachWait, 5*time.Second)
	l.Offered = cmp.Or(l.Offered, 128)
	l.ResultTokens = cmp.Or(l.ResultTokens, 16_000)
	l.ContextTokens = cmp.Or(l.ContextTokens, 16_000)
	return l
}

// Config configures an [Agent].
type Config struct {
	Assistants []schemas.Assistant
	// Default names the assistant of turns that do not choose one.
	Default string
	Models  Models
	// tools is the catalogue of the attached servers.
	Tools   offer.Tools
	Handler *toolhandler.Handler
	// Memory is nil without a conversation store.
	Memory Memory
	// Journal keeps what turns have done so far; nil loses it with the process.
	Journal *journal.Recorder
	// MemoryRequired refuses a turn whose conversation cannot be read, instead of answering without
	// it. An emergency, and a turn that saves nothing, is never refused.
	MemoryRequired bool
	// Guards are the guardrails by topic.
	Guards map[string]*subject.Guard
	// Documents reads the files of questions that a model's service does not take; nil reads none.
	Documents Documents
	// Prompts is nil when no server's prompts are used.
	Prompts Prompts
	// Pauses stores turns that wait for the client's tools; when nil, such turns continue from what
	// the client sends.
	Pauses Pauses
	// Results stores the whole texts of long results; when nil, they can be read on during their turn.
	Results offer.KeptResults
	// Grants stores approvals that last beyond one call; nil allows none.
	Grants Grants
	// Flows are the operator's rules for texts of one origin that go to another server.
	Flows []schemas.FlowRule
	// Handovers hands visitors over to people at the desk; nil if nobody can be reached.
	Handovers Handovers
	// Answers remembers what earlier answers had read, for clients that send their history; nil
	// remembers nothing.
	Answers Answers
	// Audit keeps each decision about a call; nil only logs them.
	Audit func(ctx context.Context, r toolhandler.Ruling)
	// OnHeld is called with each call that is stored for its approvers; it may be nil.
	OnHeld func(ctx context.Context, h answer.Held)
	// Recorder is nil when no traces are kept.
	Recorder Recorder
	// Observer is nil without metrics.
	Observer Observer
	// Skills are the skills by assistant.
	Skills map[string]offer.SkillLibrary
	// Rank chooses among more tools than a model is offered.
	Rank   offer.Ranker
	Limits Limits
	// Lacking maps search tools that this host could have but does not to the reason and the
	// remedy.
	Lacking map[string]string
	// Summaries is nil when nothing is summarised.
	Summaries Summaries
	Logger    *slog.Logger
	Now       func() time.Time
	// Off switches protections off, for tests that show each is needed.
	Off Protections
}

// Protections guard the person against what a model reads, in addition to the tool policy.
type Protections struct {
	// Links: addresses in the answer leak nothing. Watch: the answer keeps to the subject. Prompt:
	// the system prompt is not quoted. History: a client's history is judged.
	Links, Watch, Prompt, History bool
}

// An Agent runs turns. It is safe for concurrent use.
type Agent struct {
	cfg        Config
	assistants map[string]*schemas.Assistant
	judges     *Judge
	search     *search
	tools      *offer.Chooser
	// secrets by assistant, each built on first use.
	secrets map[string]func() *answer.Secret
	tokens  Scale
	windows windows
	log     *slog.Logger
	running atomic.Int64
	// answerKey is the key of the hashes of answers, once it was read.
	answerKey atomic.Pointer[[]byte]
	known     knownAnswers
}

// New checks the configuration as a whole and returns an agent.
func New(cfg Config) (*Agent, error) {
	a := &Agent{cfg: cfg, assistants: make(map[string]*schemas.Assistant), log: cfg.Logger}
	var faults []error
	if cfg.Models == nil || cfg.Tools == nil || cfg.Handler == nil || cfg.Rank == nil {
		faults = append(faults, errors.New("agent: models, tools, a tool handler and a ranker of tools are required"))
	}
	for _, as := range cfg.Assistants {
		faults = append(faults, checkAssistant(as))
		if as.Topic != "" && cfg.Guards[as.Topic] == nil {
			faults = append(faults, fmt.Errorf("assistant %q: there is no topic %q", as.Name, as.Topic))
		}
		if _, twice := a.assistants[as.Name]; twice {
			faults = append(faults, fmt.Errorf("assistant %q is defined twice", as.Name))
		}
		a.assistants[as.Name] = &as
	}
	if _, ok := a.assistants[cfg.Default]; !ok {
		faults = append(faults, fmt.Errorf("default assistant %q is not defined", cfg.Default))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	a.secrets = secretsOf(cfg)
	a.cfg.Limits = cfg.Limits.withDefaults()
	a.cfg.Assistants = slices.Clone(cfg.Assistants)
	if a.cfg.Now == nil {
		a.cfg.Now = time.Now
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.judges = NewJudge(cfg.Guards, a.cfg.Now)
	a.tools = offer.New(offer.Config{
		Tools: cfg.Tools, Rank: cfg.Rank, Most: a.cfg.Limits.Offered, AttachWait: a.cfg.Limits.AttachWait, Log: a.log,
	})
	a.search = newSearch(searchConfig{Tools: cfg.Tools.Tools, Handler: cfg.Handler, Lacking: cfg.Lacking})
	return a, nil
}

// Assistants returns what clients may know of the assistants, in the order of the configuration.
func (a *Agent) Assistants() []schemas.AssistantInfo {
	all := make([]schemas.AssistantInfo, 0, len(a.cfg.Assistants))
	for _, as := range a.cfg.Assistants {
		all = append(all, schemas.AssistantInfo{Name: as.Name, Description: as.Description, Topic: as.Topic, FirstQuestions: a.firstQuestions(as)})
	}
	return all
}

// Knows reports whether an assistant is configured: a client may send any name, and a stored one
// may have been removed from the config.
func (a *Agent) Knows(assistant string) bool {
	_, known := a.assistants[assistant]
	return known
}

// Run answers one turn and yields its events as they happen. The sequence is used once. A turn that
// fails yields one error, last: an error of this package, or a providers.Error. Breaking off stops
// the model and the tools; the answer so far is saved as interrupted.
func (a *Agent) Run(ctx context.Context, t Turn) iter.Seq2[answer.Event, error] {
	return func(yield func(answer.Event, error) bool) {
		if t.ID == "" {
			t.ID = schemas.NewID()
		}
		t.Began = a.cfg.Now()
		fresh := t.ConversationID == ""
		if fresh {
			t.ConversationID = "chat_" + schemas.NewID()
		}
		defer a.running.Add(-1)
		if n := a.running.Add(1); a.cfg.Limits.InFlight > 0 && n > int64(a.cfg.Limits.InFlight) {
			yield(answer.Event{}, fmt.Errorf("%w: %d turns are running already; try again in a moment", ErrUnavailable, n-1))
			return
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if err := a.answer(ctx, cancel, &t, fresh, yield); err != nil && !errors.Is(err, answer.ErrStopped) {
			yield(answer.Event{}, err)
		}
	}
}

// secretsOf returns each assistant's secret, built on first use.
func secretsOf(cfg Config) map[string]func() *answer.Secret {
	secrets := make(map[string]func() *answer.Secret, len(cfg.Assistants))
	for _, as := range cfg.Assistants {
		secrets[as.Name] = sync.OnceValue(func() *answer.Secret {
			var roles []string
			if guard := cfg.Guards[as.Topic]; guard != nil && as.SystemPrompt == "" {
				for _, lang := range []string{subject.Vietnamese, subject.English, subject.Other} {
					roles = append(roles, guard.Topic().Voice(lang).System)
				}
			}
			return answer.NewSecret(prompts.Private(roles...), as.SystemPrompt)
		})
	}
	return secrets
}
