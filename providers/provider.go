// Package providers declares what the agent asks of a model: one streaming call,
// the request and chunk types, and the kinds of error that a caller acts on. The
// adapters live one level below, each with its own SDK: gemini, ollama, openai and
// offline; chain chooses among them.
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

// A Provider speaks to one model service.
type Provider interface {
	// Name is the provider's name in the config: "ollama", "gemini", "openai",
	// "offline".
	Name() string
	// Stream runs one model call and yields its chunks as they arrive. The call is
	// made when the sequence is ranged over, once. An error is an [*Error], comes
	// once and last. A sequence that ends without an error has yielded a chunk
	// with Finish set. Breaking off cancels the call.
	Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}

// A Pass names the purpose of a model call, in logs, traces and recordings.
type Pass string

// The passes of a turn.
const (
	PassGuardrail Pass = "guardrail"
	PassLanguage  Pass = "language"
	PassTool      Pass = "tool"
	PassAnswer    Pass = "answer"
	PassSummary   Pass = "summary"
)

// A ToolChoice says whether the model must or may call a tool.
type ToolChoice string

// The tool choices. The zero value is ToolAuto.
const (
	ToolAuto     ToolChoice = ""
	ToolRequired ToolChoice = "required"
)

// A Request is one model call.
type Request struct {
	Pass  Pass
	Model string
	// System is the instruction text; it comes before all messages.
	System   string
	Messages []schemas.Message
	// Tools are offered as function schemas, in this order.
	Tools      []schemas.ToolInfo
	ToolChoice ToolChoice
	// ForbidCalls allows no call. Where the wire can say so the tools stay in the
	// request, which then begins like those before it, as caches of prompts want it. A
	// call that comes all the same is dropped with a note.
	ForbidCalls bool
	// Until is when the first output must have come at the latest; zero means within the
	// provider's own limit.
	Until time.Time
	// After is the error of the try before this one, when the chain makes a call again.
	After error
	// Schema, when set, constrains the answer to a JSON value of this JSON Schema.
	// It is never set together with Tools.
	Schema json.RawMessage
	// Language is the language that the answer should be in, "vi", "en" or "other"; a hint
	// for providers without a model of their own.
	Language string
	// About says in a sentence what the assistant is for; a hint like Language. Empty when
	// it has nothing to look anything up with.
	About       string
	Temperature *float64
	// DefaultTemperature is used where neither the request nor the provider's own settings
	// name one.
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
	// ExtraBody is a JSON object whose fields are put into the body of the request and
	// win; objects are merged.
	ExtraBody json.RawMessage
}

// With returns the request with the tuning for what it does not set.
func (r Request) With(t schemas.Tuning) Request {
	r.Temperature = cmp.Or(r.Temperature, t.Temperature, r.DefaultTemperature)
	r.TopP = cmp.Or(r.TopP, t.TopP)
	r.MaxTokens = cmp.Or(r.MaxTokens, t.MaxTokens)
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
	return p == PassGuardrail || p == PassLanguage || p == PassSummary
}

// A FinishReason says why a stream ended, in OpenAI's words.
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
	// Retract is set when all text of this call before this chunk has turned out to be
	// reasoning. It stays where it was shown, and is not part of the answer, of what is
	// remembered, or of what the model is sent later.
	Retract bool
	// Call is a whole tool call, with a UUID of ours as its id.
	Call *schemas.ToolCall
	// State is the provider's private state for this chunk's part.
	State *schemas.ProviderState
	// Sources are pages that the provider grounded its answer on.
	Sources []schemas.Source
	// Usage is the running total of this call; the last one seen counts.
	Usage *schemas.Usage
	// Switched is set on the first chunk of a call that another provider than the
	// route's answers, because that one could not.
	Switched *Switch
	// Note explains a decision of the provider's own code, for the trace.
	Note string
	// Finish is set on the last chunk.
	Finish FinishReason
}

// A Switch is a fall-over to another provider, before the first output of a call.
type Switch struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Why names the provider that failed and its fault.
	Why string `json:"why"`
	// Quotes is set when no model answers: the provider quotes what was found.
	Quotes bool `json:"-"`
}

// A Route is the provider and models that a turn uses, and why.
type Route struct {
	Provider Provider
	// Model answers; SmallModel judges, detects and summarises.
	Model      string
	SmallModel string
	// Why says how the route was chosen, for people.
	Why string
	// Offline is set when no model can be had and the provider only quotes.
	Offline bool
	// Queues is set when the provider runs one request after the other, so that two
	// at once gain nothing.
	Queues bool
}

// A Windower is a [Provider] that knows how long the context of a model is.
type Windower interface {
	// Window returns how many tokens prompt and answer of a call may have together, or
	// 0 when that is not known. It may ask the service, once for each model.
	Window(ctx context.Context, model string) int
}

// Window returns the window of a model at p, or at the provider that p wraps, and 0
// when it is not known.
func Window(ctx context.Context, p Provider, model string) int {
	if w, ok := as[Windower](p); ok {
		return w.Window(ctx, model)
	}
	return 0
}

// MaxWindow returns the largest window that a model at p can have, or at the provider that p
// wraps: where that does not grow, its [Window].
func MaxWindow(ctx context.Context, p Provider, model string) int {
	if g, ok := as[interface {
		MaxWindow(ctx context.Context, model string) int
	}](p); ok {
		return g.MaxWindow(ctx, model)
	}
	return Window(ctx, p, model)
}

// as returns p, or the provider that p wraps, as one that can do more.
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
