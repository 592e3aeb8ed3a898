// Package providers declares what the agent asks of a model: one streaming call,
// the request and chunk types, and the kinds of error that a caller acts on. The
// adapters live one level below, each with its own SDK: gemini, ollama, openai and
// offline; chain chooses among them.
package providers

import (
	"context"
	"encoding/json"
	"iter"

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

// A ToolChoice says whether the model must, may or must not call a tool.
type ToolChoice string

// The tool choices. The zero value is ToolAuto.
const (
	ToolAuto     ToolChoice = ""
	ToolRequired ToolChoice = "required"
	ToolNone     ToolChoice = "none"
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
	// Schema, when set, constrains the answer to a JSON value of this JSON Schema.
	// It is never set together with Tools.
	Schema json.RawMessage
	// Language is the language that the answer should be in, "vi" or "en"; a hint
	// for providers without a model of their own.
	Language    string
	Temperature *float64
	// MaxTokens bounds the answer; zero leaves it to the provider.
	MaxTokens int
	Stop      []string
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
