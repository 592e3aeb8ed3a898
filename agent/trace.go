package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"molar/agent/guardrail"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// A Trace answers, for one turn, why each tool was called or not: the tools offered
// and withheld with reasons, prompts, raw model output, verdict, calls and timings.
// The trace of a refused turn holds the verdict and a hash, no text.
type Trace struct {
	TurnID         string        `json:"turn_id"`
	ConversationID string        `json:"conversation_id"`
	Owner          string        `json:"-"`
	Assistant      string        `json:"assistant"`
	Provider       string        `json:"provider"`
	Model          string        `json:"model,omitempty"`
	Route          string        `json:"route,omitempty"`
	Started        time.Time     `json:"started"`
	TookMS         float64       `json:"took_ms"`
	Status         string        `json:"status"` // done | refused | interrupted | failed
	Error          string        `json:"error,omitempty"`
	Language       string        `json:"language,omitempty"`
	Question       string        `json:"question,omitempty"`
	QuestionHash   string        `json:"question_sha256"`
	Answer         string        `json:"answer,omitempty"`
	Verdict        *VerdictTrace `json:"verdict,omitempty"`
	Memory         string        `json:"memory,omitempty"`
	Steps          []StepTrace   `json:"steps,omitempty"`
	Tools          []ToolTrace   `json:"tools"`
	Passes         []PassTrace   `json:"passes"`
	Done           *Done         `json:"done,omitempty"`
}

// A VerdictTrace is the guardrail's decision.
type VerdictTrace struct {
	guardrail.Verdict
	TookMS float64 `json:"took_ms"`
}

// A ToolTrace says what became of one tool in a turn.
type ToolTrace struct {
	Name string `json:"name"`
	// Offered says that the model could call it; Reason, why not, or why it was
	// called.
	Offered bool        `json:"offered"`
	Reason  string      `json:"reason"`
	Calls   []CallTrace `json:"calls,omitempty"`
}

// A StepTrace says how long a step kept the turn waiting, or, for memory and
// guardrail, which run beside others, how long it took.
type StepTrace struct {
	Step string `json:"step"`
	// StartMS is when it began, from the turn's start.
	StartMS float64 `json:"start_ms"`
	TookMS  float64 `json:"took_ms"`
}

// A CallTrace is one execution.
type CallTrace struct {
	ID string `json:"id"`
	// At is when it ended. Server and Tool are empty for a tool that does not exist.
	At        time.Time          `json:"at"`
	Server    string             `json:"server,omitempty"`
	Tool      string             `json:"tool,omitempty"`
	Arguments string             `json:"arguments"`
	Status    toolhandler.Status `json:"status"`
	Output    string             `json:"output"`
	TookMS    float64            `json:"took_ms"`
}

// A PassTrace is one model call.
type PassTrace struct {
	Pass     providers.Pass         `json:"pass"`
	Model    string                 `json:"model,omitempty"`
	Prompt   string                 `json:"prompt,omitempty"`
	Offered  int                    `json:"tools_offered"`
	Output   string                 `json:"output,omitempty"`
	Thinking string                 `json:"thinking,omitempty"`
	Calls    []schemas.ToolCall     `json:"calls,omitempty"`
	Note     string                 `json:"note,omitempty"`
	Finish   providers.FinishReason `json:"finish_reason,omitempty"`
	Error    string                 `json:"error,omitempty"`
	Usage    schemas.Usage          `json:"usage"`
	// StartMS is when it began, from the turn's start.
	StartMS float64 `json:"start_ms"`
	FirstMS float64 `json:"first_output_ms"`
	TookMS  float64 `json:"took_ms"`
}

// withoutText keeps which call was made and what it cost: all else may quote the
// question, also what a tool pass said while the verdict was still out.
func (p PassTrace) withoutText() PassTrace {
	return PassTrace{
		Pass: p.Pass, Model: p.Model, Offered: p.Offered, Finish: p.Finish,
		Usage: p.Usage, StartMS: p.StartMS, FirstMS: p.FirstMS, TookMS: p.TookMS,
	}
}

// A tracer collects a trace. The guardrail's model call runs beside the turn, hence
// the lock.
type tracer struct {
	mu   sync.Mutex
	now  func() time.Time
	on   bool // texts are only collected when somebody takes the trace
	t    Trace
	seen map[string]int
}

func newTracer(on bool, now func() time.Time) *tracer {
	return &tracer{now: now, on: on, t: Trace{Started: now(), Tools: []ToolTrace{}, Passes: []PassTrace{}}, seen: make(map[string]int)}
}

func (tr *tracer) route(t Turn, a Assistant, route providers.Route) {
	tr.t.TurnID, tr.t.ConversationID, tr.t.Owner = t.ID, t.ConversationID, t.Owner
	tr.t.Assistant, tr.t.Provider, tr.t.Model, tr.t.Route = a.Name, route.Provider.Name(), route.Model, route.Why
}

func (tr *tracer) verdict(v guardrail.Verdict) {
	tr.t.Verdict = &VerdictTrace{Verdict: v, TookMS: ms(v.Took)}
	tr.step("guardrail", v.Took)
}

func (tr *tracer) tool(name string) *ToolTrace {
	i, ok := tr.seen[name]
	if !ok {
		i = len(tr.t.Tools)
		tr.seen[name] = i
		tr.t.Tools = append(tr.t.Tools, ToolTrace{Name: name})
	}
	return &tr.t.Tools[i]
}

func (tr *tracer) offered(name string) {
	t := tr.tool(name)
	t.Offered, t.Reason = true, "offered, and the model did not call it"
}

func (tr *tracer) withheld(name, reason string) { tr.tool(name).Reason = reason }

func (tr *tracer) outcome(o toolhandler.Outcome, reason string) {
	name := o.Tool.Name
	if name == "" {
		name = o.Call.Function.Name
	}
	t := tr.tool(name)
	t.Reason = reason
	t.Calls = append(t.Calls, CallTrace{
		ID:        o.Call.ID,
		At:        tr.now(),
		Server:    o.Tool.Server,
		Tool:      o.Tool.ToolName,
		Arguments: o.Call.Function.Arguments,
		Status:    o.Status,
		Output:    o.Result.OutputText(),
		TookMS:    ms(o.Took),
	})
}

// step notes how long a step took that ends now. It may be called beside the turn.
func (tr *tracer) step(name string, took time.Duration) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	began := max(0, tr.now().Sub(tr.t.Started)-took)
	tr.t.Steps = append(tr.t.Steps, StepTrace{Step: name, StartMS: ms(began), TookMS: ms(took)})
}

// timed notes how long a step takes.
func (r *run) timed(name string, step func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		began := r.a.cfg.Now()
		defer func() { r.trace.step(name, r.a.cfg.Now().Sub(began)) }()
		return step(ctx)
	}
}

// A passTracer fills one PassTrace.
type passTracer struct {
	tr       *tracer
	index    int
	started  time.Time
	text     strings.Builder
	thinking strings.Builder
	p        PassTrace
}

func (tr *tracer) pass(req providers.Request) *passTracer {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	p := &passTracer{tr: tr, index: len(tr.t.Passes), started: tr.now()}
	p.p = PassTrace{Pass: req.Pass, Model: req.Model, Offered: len(req.Tools), StartMS: ms(p.started.Sub(tr.t.Started))}
	if tr.on {
		p.p.Prompt = promptText(req)
	}
	tr.t.Passes = append(tr.t.Passes, p.p)
	return p
}

func (p *passTracer) chunk(c providers.Chunk) {
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

func (p *passTracer) fail(err error) { p.p.Error = err.Error() }

func (p *passTracer) end(usage schemas.Usage) {
	p.p.Output, p.p.Thinking, p.p.Usage = p.text.String(), p.thinking.String(), usage
	p.p.TookMS = ms(p.tr.now().Sub(p.started))
	p.tr.mu.Lock()
	defer p.tr.mu.Unlock()
	p.tr.t.Passes[p.index] = p.p
}

// finish closes the trace.
func (tr *tracer) finish(r *run, err error) Trace {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	t := tr.t
	sum := sha256.Sum256([]byte(r.asked))
	t.QuestionHash = hex.EncodeToString(sum[:])
	t.TookMS = ms(tr.now().Sub(t.Started))
	t.Done = r.sum()
	t.Question, t.Answer = r.asked, r.answer.String()
	t.Status = "done"
	switch {
	case t.Verdict != nil && !t.Verdict.Pass:
		t.Status, t.Question, t.Answer = "refused", "", ""
		t.Done.Refused = true
		for i, p := range t.Passes {
			t.Passes[i] = p.withoutText()
		}
	case errors.Is(err, errStopped):
		t.Status = "interrupted"
	case err != nil:
		t.Status, t.Error = "failed", err.Error()
	}
	return t
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// MaxTraceSize is how large an encoded trace may be, in bytes.
const MaxTraceSize = 64 << 10

// Encode returns the trace as JSON of at most MaxTraceSize bytes: its longest texts
// are cut, with a mark, until it fits.
func (t Trace) Encode() (json.RawMessage, error) {
	for limit := 32 << 10; ; limit /= 2 {
		data, err := json.Marshal(t)
		if err != nil || len(data) <= MaxTraceSize {
			return data, err
		}
		if limit < 64 {
			t.Tools, t.Passes = nil, nil
			continue
		}
		t = t.cut(limit)
	}
}

// cut returns a copy whose texts are at most limit bytes each.
func (t Trace) cut(limit int) Trace {
	t.Question, t.Answer = cutText(t.Question, limit), cutText(t.Answer, limit)
	t.Tools = append([]ToolTrace(nil), t.Tools...)
	for i := range t.Tools {
		calls := append([]CallTrace(nil), t.Tools[i].Calls...)
		for j := range calls {
			calls[j].Output = cutText(calls[j].Output, limit)
			calls[j].Arguments = cutText(calls[j].Arguments, limit)
		}
		t.Tools[i].Calls = calls
	}
	t.Passes = append([]PassTrace(nil), t.Passes...)
	for i := range t.Passes {
		p := &t.Passes[i]
		p.Prompt, p.Output = cutText(p.Prompt, limit), cutText(p.Output, limit)
		p.Thinking, p.Note = cutText(p.Thinking, limit), cutText(p.Note, limit)
	}
	return t
}

func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "… (cut)"
}
