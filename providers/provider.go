// Package providers declares the agent's interface to models: one streaming call, the request and
// chunk types, and the kinds of error that a caller acts on. The adapters are packages below it,
// each with its own SDK: gemini, ollama, openai and offline; chain chooses among them.
package providers

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"time"

	"molar/schemas"
)

// A Provider is a client of one model service.
type Provider interface {
	// Name returns the endpoint's name in the config: that of its service, such as "ollama", or a name
	// that a person chose.
	Name() string
	// Stream runs one model call and yields its chunks as they arrive. The call begins when the
	// sequence is ranged over, which may be done once. An error is an [*Error] and comes last. A
	// sequence that ends without an error has yielded a chunk with Finish set. Breaking off cancels
	// the call.
	Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}

// A Pass names the purpose of a model call, in logs, traces and recordings.
type Pass string

// The passes of a turn.
const (
	PassGuardrail Pass = "guardrail"
	PassLanguage  Pass = "language"
	PassQueries   Pass = "queries"
	PassTool      Pass = "tool"
	PassAnswer    Pass = "answer"
	PassSummary   Pass = "summary"
	// PassJudge is no part of a turn: it judges the answer of one (molar eval).
	PassJudge Pass = "judge"
)

// A ToolChoice determines whether the model must or may call a tool.
type ToolChoice string

// The tool choices. The zero value is ToolAuto.
const (
	ToolAuto     ToolChoice = ""
	ToolRequired ToolChoice = "required"
)

// A Request is one model call.
type Request struct {
	// Payer is whom the call is charged to.
	Payer Payer `json:"-"`
	Pass  Pass
	Model string
	// System is the instruction text; it comes before all messages.
	System   string
	Messages []schemas.Message
	// Tools are offered as function schemas, in this order.
	Tools      []schemas.ToolInfo
	ToolChoice ToolChoice
	// ForbidCalls forbids tool calls. If the service's API can express that, the tools stay in the
	// request, so that it begins like earlier ones and hits their prompt cache. A call that the
	// model makes nevertheless is dropped with a note.
	ForbidCalls bool
	// Until is the deadline of the first output; zero means the provider's own limit.
	Until time.Time
	// After is the error of the previous try, if the chain retries a call.
	After error
	// Schema, if set, constrains the answer to a JSON value that matches this JSON Schema, which may
	// be [AnyObject]. It is set together with Tools only if [SchemaBesideTools] holds.
	Schema json.RawMessage
	// Language is the language of the answer, "vi", "en" or "other". It is a hint for the offline
	// provider.
	Language string
	// About describes the purpose of the assistant in a sentence; a hint like Language. It is empty
	// for an assistant that cannot look anything up.
	About       string
	Temperature *float64
	// DefaultTemperature is used if neither the request nor the provider's settings set one.
	DefaultTemperature *float64
	TopP               *float64
	// MaxTokens bounds the answer; zero leaves it to the provider.
	MaxTokens int
	Stop      []string
	Seed      *int64
	// Thinking is how much the model thinks first; empty leaves it to the provider's own
	// settings.
	Thinking schemas.Thinking
	// Headers are further HTTP headers of the request.
	Headers map[string]string
	// ExtraBody is a JSON object whose fields are merged into the body of the request and take
	// precedence.
	ExtraBody json.RawMessage
}

// A Payer is whom a model call is charged to. The zero Payer is the operator.
type Payer struct {
	// Since is when the turn began; zero means with the call.
	Since time.Time
	// Owner is the person or the key whose turn it is, and Groups are the person's.
	Owner  string
	Groups []string
	// Assistant is the assistant of the turn.
	Assistant string
	// Language is "vi" if the payer is to be told in Vietnamese that a budget is used up, else in English.
	Language string
}

// With returns the request with the tuning for what it does not set. The most tokens of an answer are no
// limit for a verdict or a summary.
func (r Request) With(t schemas.Tuning) Request {
	r.Temperature = cmp.Or(r.Temperature, t.Temperature, r.DefaultTemperature)
	r.TopP = cmp.Or(r.TopP, t.TopP)
	if !r.Pass.IsSmall() {
		r.MaxTokens = cmp.Or(r.MaxTokens, t.MaxTokens)
	}
	r.Thinking = cmp.Or(r.Thinking, t.Thinking)
	if len(t.Headers) > 0 {
		headers := schemas.RevealAll(t.Headers)
		maps.Copy(headers, r.Headers)
		r.Headers = headers
	}
	if len(r.ExtraBody) == 0 {
		r.ExtraBody = t.ExtraBody
	}
	return r
}

// IsSmall reports whether the pass is the small model's, which nobody reads along.
func (p Pass) IsSmall() bool {
	return p == PassGuardrail || p == PassLanguage || p == PassQueries || p == PassSummary || p == PassJudge
}

// A FinishReason is why a stream ended, in OpenAI's terms.
type FinishReason string

// The finish reasons.
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishContentFilter FinishReason = "content_filter"
)

// A Chunk is a piece of a model's answer. Any of its fields may be set.
type Chunk struct {
	// Text is answer text, to be appended to what came before.
	Text string
	// Thinking is the model's reasoning; it is never part of the answer.
	Thinking string
	// Retract is set if all text of this call before this chunk has turned out to be reasoning. That
	// text stays on the screen, but is not part of the answer, of the stored turn, or of later
	// prompts.
	Retract bool
	// Call is a complete tool call. Its id is a UUID that the host made.
	Call *schemas.ToolCall
	// State is the provider's private state for this chunk's part.
	State *schemas.ProviderState
	// Sources are pages that the provider grounded its answer on.
	Sources []schemas.Source
	// Usage is the running total of this call; the last one counts.
	Usage *schemas.Usage
	// Switched is set on the first chunk of a call that a fallback answers instead of the route's
	// provider.
	Switched *Switch
	// Note explains a decision of the provider's code, for the trace.
	Note string
	// Warning is told to the person, such as that a budget is nearly used up.
	Warning string
	// Finish is set on the last chunk.
	Finish FinishReason
}

// A Switch is a fallback to another provider, before the first output of a call.
type Switch struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Why names the provider that failed and its fault.
	Why string `json:"why"`
	// Quotes is set if the fallback has no model and only quotes tool results.
	Quotes bool `json:"-"`
}

// A Route is the provider and models that a turn uses, and why.
type Route struct {
	Provider Provider
	// Model answers; SmallModel judges, detects and summarises.
	Model      string
	SmallModel string
	// Why explains to people how the route was chosen.
	Why string
	// Offline is set if no model is available and the provider only quotes.
	Offline bool
	// Queues is set if the provider runs one request at a time and the small model is there too, so
	// that concurrent requests of a turn gain nothing.
	Queues bool
	// Small is the provider of the small model, and SmallQueues is set if it runs one request at a
	// time. Nil means Provider.
	Small       Provider
	SmallQueues bool
}

// JudgeQueues reports whether the provider of the small model runs one request at a time.
func (r Route) JudgeQueues() bool {
	if r.Small != nil {
		return r.SmallQueues
	}
	return r.Queues
}

// For returns the provider of a pass.
func (r Route) For(pass Pass) Provider {
	if pass.IsSmall() && r.Small != nil {
		return r.Small
	}
	return r.Provider
}

// A Windower is a [Provider] that can report the size of a model's context window.
type Windower interface {
	// Window returns how many tokens the prompt and the answer of a call may have together, or 0 if
	// unknown. It may query the service, once for each model.
	Window(ctx context.Context, model string) int
}

// Window returns the window of a model at p, or at the provider that p wraps; 0 if unknown.
func Window(ctx context.Context, p Provider, model string) int {
	if w, ok := as[Windower](p); ok {
		return w.Window(ctx, model)
	}
	return 0
}

// MaxWindow returns the largest window that a model can have at p, or at the provider that p wraps.
// If the window cannot grow, that is its [Window].
func MaxWindow(ctx context.Context, p Provider, model string) int {
	if g, ok := as[interface {
		MaxWindow(ctx context.Context, model string) int
	}](p); ok {
		return g.MaxWindow(ctx, model)
	}
	return Window(ctx, p, model)
}

// PictureTokens returns how many tokens a picture of so many pixels takes at p, or at the provider
// that p wraps. The default is a token for 28 by 28 pixels, as for Qwen-VL and its like, which Ollama
// serves.
func PictureTokens(p Provider, width, height int) int {
	if counter, ok := as[interface{ PictureTokens(width, height int) int }](p); ok {
		return counter.PictureTokens(width, height)
	}
	const side = 28
	return max((width+side-1)/side*((height+side-1)/side), 1)
}

// TakesFile reports whether the API of p, or of the provider that p wraps, takes a file of a media type
// itself, and whether that is sure: others serve the same API, and take less.
func TakesFile(p Provider, media string) (takes, sure bool) {
	if taker, ok := as[interface {
		TakesFile(media string) (takes, sure bool)
	}](p); ok {
		return taker.TakesFile(media)
	}
	return false, false
}

// SchemaBesideTools reports whether a model at p, or at the provider that p wraps, takes the schema of
// its answer in a request that also offers tools.
func SchemaBesideTools(p Provider, model string, schema json.RawMessage) bool {
	taker, ok := as[interface {
		SchemaBesideTools(model string, schema json.RawMessage) bool
	}](p)
	return ok && taker.SchemaBesideTools(model, schema)
}

// EnforcesSchema reports whether an answer of a model at p, or at the provider that p wraps, that ends
// by itself is sure to match a schema of its request, so that it may be shown before it is whole.
func EnforcesSchema(p Provider, model string, schema json.RawMessage) bool {
	able, ok := as[interface {
		EnforcesSchema(model string, schema json.RawMessage) bool
	}](p)
	return ok && able.EnforcesSchema(model, schema)
}

// AnyObject is the schema of a request that only asks for a JSON object. Services have a mode of
// their own for it.
func AnyObject() json.RawMessage { return json.RawMessage(`{"type":"object"}`) }

// as returns p, or the provider that p wraps, as a T; ok is false if neither is one.
func as[T any](p Provider) (able T, ok bool) {
	for p != nil {
		if able, ok = p.(T); ok {
			return able, true
		}
		wrapper, wraps := p.(interface{ Unwrap() Provider })
		if !wraps {
			break
		}
		p = wrapper.Unwrap()
	}
	return able, false
}
