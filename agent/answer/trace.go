package answer

import (
	"encoding/json"
	"strings"
	"time"

	"molar/agent/subject"
	"molar/internal/text"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// A Trace explains, for one turn, why each tool was called or not: the tools offered and withheld
// with reasons, prompts, raw model output, verdict, calls and timings. The trace of a refused turn
// holds the verdict and a hash, no text.
type Trace struct {
	TurnID         string    `json:"turn_id"`
	ConversationID string    `json:"conversation_id"`
	Owner          string    `json:"-"`
	Assistant      string    `json:"assistant"`
	Provider       string    `json:"provider"`
	Model          string    `json:"model,omitempty"`
	Route          string    `json:"route,omitempty"`
	Started        time.Time `json:"started"`
	TookMS         float64   `json:"took_ms"`
	Status         string    `json:"status"` // done | refused | interrupted | failed
	// Untraced is set when no trace of the turn was written or kept: only its stored question and
	// answer are here.
	Untraced bool `json:"untraced,omitempty"`
	// Outcome is that of [OutcomeOf]; it is empty until the trace is stored.
	Outcome      schemas.Outcome `json:"outcome,omitempty"`
	Error        string          `json:"error,omitempty"`
	Language     string          `json:"language,omitempty"`
	Question     string          `json:"question,omitempty"`
	QuestionHash string          `json:"question_sha256"`
	Answer       string          `json:"answer,omitempty"`
	Commentary   []string        `json:"commentary,omitempty"`
	Verdict      *VerdictTrace   `json:"verdict,omitempty"`
	Memory       string          `json:"memory,omitempty"`
	Steps        []StepTrace     `json:"steps,omitempty"`
	// Without are the tools that the person had left out for this question, by name or glob.
	Without []string     `json:"without,omitempty"`
	Skills  *SkillsTrace `json:"skills,omitempty"`
	Tools   []ToolTrace  `json:"tools"`
	Passes  []PassTrace  `json:"passes"`
	Done    *Done        `json:"done,omitempty"`
}

// A VerdictTrace is the guardrail's decision.
type VerdictTrace struct {
	subject.Verdict
	TookMS float64 `json:"took_ms"`
}

// A SkillsTrace records the skills of a turn. Those that were read are the calls of read_skill.
type SkillsTrace struct {
	// Shown are named in the prompt; More is how many others find_tools finds.
	Shown []string `json:"shown"`
	More  int      `json:"more,omitempty"`
}

// A ToolTrace records the use of one tool in a turn.
type ToolTrace struct {
	Name string `json:"name"`
	// Offered is set if the model could call it; Reason is why not, or why it was called.
	Offered bool   `json:"offered"`
	Reason  string `json:"reason"`
	// Shown describes the part of its definition that the model saw; empty if that was all of it.
	Shown string      `json:"shown,omitempty"`
	Calls []CallTrace `json:"calls,omitempty"`
}

// A StepTrace is how long a step delayed the turn, or, for memory and guardrail, which run
// concurrently, how long it took.
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
	// Empty is set if it only read, and found nothing.
	Empty bool `json:"empty,omitempty"`
	// TookMS excludes WaitedMS, the time a person took to decide.
	TookMS   float64 `json:"took_ms"`
	WaitedMS float64 `json:"waited_ms,omitempty"`
	// DecidedBy names the approver of a call that needs one.
	DecidedBy string `json:"decided_by,omitempty"`
}

// Refused reports whether a person or a rule refused it.
func (c CallTrace) Refused() bool { return c.Status == toolhandler.StatusRefused }

// A PassTrace is one model call.
type PassTrace struct {
	Pass providers.Pass `json:"pass"`
	// Provider is empty if it is the turn's.
	Provider string                 `json:"provider,omitempty"`
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

// withoutText keeps the identity and cost of a call: all else may quote the question, even the text
// of a tool pass before the verdict.
func (p PassTrace) withoutText() PassTrace {
	return PassTrace{
		Pass: p.Pass, Provider: p.Provider, Model: p.Model, Offered: p.Offered, Finish: p.Finish,
		Usage: p.Usage, StartMS: p.StartMS, FirstMS: p.FirstMS, TookMS: p.TookMS,
	}
}

// MaxTraceSize limits an encoded trace, in bytes.
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

func cutText(s string, limit int) string { return text.Clip(s, limit, "… (cut)") }

// PromptText returns a prompt in readable form.
func PromptText(req *providers.Request) string {
	var b strings.Builder
	b.WriteString(req.System)
	for _, m := range req.Messages {
		b.WriteString("\n\n" + string(m.Role) + ": " + m.FullText())
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				b.WriteString("\n" + p.Call.Function.Name + " " + p.Call.Function.Arguments)
			case p.Kind == schemas.PartResult:
				b.WriteString("\n" + p.Text)
			}
		}
	}
	return b.String()
}
