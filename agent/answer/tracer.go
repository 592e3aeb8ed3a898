package answer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"molar/agent/subject"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// A Tracer collects a trace. The guardrail's model call runs concurrently, hence the lock.
type Tracer struct {
	mu   sync.Mutex
	now  func() time.Time
	on   bool // set if a recorder takes the trace; else no texts are collected
	t    Trace
	seen map[string]int
}

// NewTracer begins a trace. Prompts, model output and the tools that were not called are collected only
// when it is on.
func NewTracer(on bool, now func() time.Time) *Tracer {
	return &Tracer{now: now, on: on, t: Trace{Started: now(), Tools: []ToolTrace{}, Passes: []PassTrace{}}, seen: make(map[string]int)}
}

// Turn records the identity and the owner of the turn.
func (tr *Tracer) Turn(id, conversation, owner string) {
	tr.t.TurnID, tr.t.ConversationID, tr.t.Owner = id, conversation, owner
}

// Route records the assistant and the route.
func (tr *Tracer) Route(assistant string, route providers.Route) {
	tr.t.Assistant, tr.t.Provider, tr.t.Model, tr.t.Route = assistant, route.Provider.Name(), route.Model, route.Why
}

// Without records the tools that the turn does without, as the person asked.
func (tr *Tracer) Without(globs []string) { tr.t.Without = globs }

// Verdict records the guardrail's decision.
func (tr *Tracer) Verdict(v subject.Verdict) {
	tr.t.Verdict = &VerdictTrace{Verdict: v, TookMS: ms(v.Took)}
	tr.Step("guardrail", v.Took)
}

func (tr *Tracer) tool(name string) *ToolTrace {
	i, ok := tr.seen[name]
	if !ok {
		i = len(tr.t.Tools)
		tr.seen[name] = i
		tr.t.Tools = append(tr.t.Tools, ToolTrace{Name: name})
	}
	return &tr.t.Tools[i]
}

// Offered records a tool that the model may call, and what is shown of its definition if not all.
func (tr *Tracer) Offered(name, shown string) {
	if !tr.on {
		return
	}
	t := tr.tool(name)
	t.Offered, t.Shown, t.Reason = true, shown, "offered, and the model did not call it"
}

// Withheld records why the model may not call a tool.
func (tr *Tracer) Withheld(name, reason string) {
	if tr.on {
		tr.tool(name).Reason = reason
	}
}

// Skills records the skills that the prompt names, and how many others there are.
func (tr *Tracer) Skills(shown []string, more int) {
	if tr.on {
		tr.t.Skills = &SkillsTrace{shown, more}
	}
}

// Outcome records the result of a call, and why it was made.
func (tr *Tracer) Outcome(o toolhandler.Outcome, reason string) {
	t := tr.tool(cmp.Or(o.Tool.Name, o.Call.Function.Name))
	t.Reason = reason
	t.Calls = append(t.Calls, CallTrace{
		ID:        o.Call.ID,
		At:        tr.now(),
		Server:    o.Tool.Server,
		Tool:      o.Tool.ToolName,
		Arguments: o.Call.Function.Arguments,
		Status:    o.Status,
		Output:    o.Result.OutputText(),
		Empty:     o.Status == toolhandler.StatusOK && o.Result.FoundNothing(o.Tool.Annotations),
		TookMS:    ms(o.Took),
		WaitedMS:  ms(o.Waited),
		DecidedBy: o.DecidedBy,
	})
}

// FoundNothing reports whether the turn so far has searched, and found nothing.
func (tr *Tracer) FoundNothing() bool { return tr.t.foundNothing() }

// Step records how long a step took that ends now. It may be called concurrently with the turn.
func (tr *Tracer) Step(name string, took time.Duration) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	began := max(0, tr.now().Sub(tr.t.Started)-took)
	tr.t.Steps = append(tr.t.Steps, StepTrace{Step: name, StartMS: ms(began), TookMS: ms(took)})
}

// A Pass fills one [PassTrace].
type Pass struct {
	tr       *Tracer
	index    int
	started  time.Time
	text     strings.Builder
	thinking strings.Builder
	p        PassTrace
}

// Pass starts recording a model call of a provider. It may be called concurrently with the turn.
func (tr *Tracer) Pass(req *providers.Request, provider string) *Pass {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	p := &Pass{tr: tr, index: len(tr.t.Passes), started: tr.now()}
	p.p = PassTrace{Pass: req.Pass, Model: req.Model, Offered: len(req.Tools), StartMS: ms(p.started.Sub(tr.t.Started))}
	if provider != tr.t.Provider {
		p.p.Provider = provider
	}
	if tr.on {
		p.p.Prompt = PromptText(req)
	}
	tr.t.Passes = append(tr.t.Passes, p.p)
	return p
}

// Chunk records a piece of the model's output.
func (p *Pass) Chunk(c providers.Chunk) {
	if s := c.Switched; s != nil {
		p.p.Provider, p.p.Model = s.Provider, s.Model
	}
	if !p.tr.on {
		return
	}
	if p.p.FirstMS == 0 {
		p.p.FirstMS = ms(p.tr.now().Sub(p.started))
	}
	p.text.WriteString(c.Text)
	p.thinking.WriteString(c.Thinking)
	if c.Call != nil {
		p.p.Calls = append(p.p.Calls, *c.Call)
	}
	if c.Note != "" {
		p.p.Note = strings.TrimPrefix(p.p.Note+"\n"+c.Note, "\n")
	}
	if c.Finish != "" {
		p.p.Finish = c.Finish
	}
}

// Fail records why the call failed.
func (p *Pass) Fail(err error) { p.p.Error = err.Error() }

// End finishes the call with its usage.
func (p *Pass) End(usage schemas.Usage) {
	p.p.Output, p.p.Thinking, p.p.Usage = p.text.String(), p.thinking.String(), usage
	p.p.TookMS = ms(p.tr.now().Sub(p.started))
	p.tr.mu.Lock()
	defer p.tr.mu.Unlock()
	p.tr.t.Passes[p.index] = p.p
}

// Asked records the question and its hash.
func (tr *Tracer) Asked(question string) {
	sum := sha256.Sum256([]byte(question))
	tr.t.Question, tr.t.QuestionHash = question, hex.EncodeToString(sum[:])
}

// Memory records the result of reading the conversation.
func (tr *Tracer) Memory(what string) { tr.t.Memory = what }

// Language records the language of the turn.
func (tr *Tracer) Language(lang string) { tr.t.Language = lang }

// An End is the end of a turn, as its readers saw it.
type End struct {
	Answer     string
	Commentary []string
	// Done summarises the turn, even a failed one, whose provider and language the tracer fills in.
	Done *Done
	// Stopped is set when the consumer broke off.
	Stopped bool
	Err     error
}

// Finish returns the trace, with the shown text. A refused turn's trace has no text.
func (tr *Tracer) Finish(e End) Trace {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	t := tr.t
	t.TookMS = ms(tr.now().Sub(t.Started))
	done := *e.Done // the readers of the events have the original
	t.Answer, t.Commentary, t.Done = e.Answer, e.Commentary, &done
	if t.Done.Provider == "" {
		t.Done.Provider, t.Done.Model, t.Done.Language = t.Provider, t.Model, t.Language
	}
	t.Status = "done"
	switch {
	case t.Verdict != nil && !t.Verdict.Pass || t.Done.Refused:
		t.Status, t.Question, t.Answer, t.Commentary = "refused", "", "", nil
		t.Done.Refused = true
		for i, p := range t.Passes {
			t.Passes[i] = p.withoutText()
		}
	case e.Stopped:
		t.Status = "interrupted"
	case e.Err != nil:
		t.Status, t.Error = "failed", e.Err.Error()
	}
	return t
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
