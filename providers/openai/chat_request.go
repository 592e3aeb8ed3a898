package openai

import (
	"encoding/json"

	"molar/providers"
	"molar/schemas/lower"
)

// chatBody is the body of chat/completions.
type chatBody struct {
	Model           string            `json:"model"`
	Messages        []message         `json:"messages"`
	Stream          bool              `json:"stream"`
	StreamOptions   *streamOptions    `json:"stream_options,omitempty"`
	Tools           []json.RawMessage `json:"tools,omitempty"`
	ToolChoice      string            `json:"tool_choice,omitempty"`
	Temperature     *float64          `json:"temperature,omitempty"`
	TopP            *float64          `json:"top_p,omitempty"`
	Seed            *int64            `json:"seed,omitempty"`
	ReasoningEffort string            `json:"reasoning_effort,omitempty"`
	// TemplateArgs are arguments of the prompt template, for servers that render it.
	TemplateArgs        map[string]any  `json:"chat_template_kwargs,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	Stop                []string        `json:"stop,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type responseFormat struct {
	Type   string     `json:"type"`
	Schema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict,omitempty"`
	Schema json.RawMessage `json:"schema"`
}

// chatBody builds the body of a request to chat/completions.
func (p *Provider) chatBody(s *sending, req providers.Request, explicit bool) error {
	b := &chatBody{
		Model: req.Model, Stream: true, StreamOptions: &streamOptions{IncludeUsage: true},
		Tools: s.set.Wire(), Temperature: req.Temperature, TopP: req.TopP, Seed: req.Seed, Stop: req.Stop,
	}
	form := &chatForm{}
	h, err := p.lowerHistory(req, s.set, form, chatMediaForms)
	if err != nil {
		return err
	}
	s.body, s.shown, s.mediaForms = b, h.shown && !h.own, chatMediaForms
	b.Messages = form.out
	if len(b.Tools) > 0 {
		b.ToolChoice = choiceOf(req)
	}
	if p.original {
		b.MaxCompletionTokens = req.MaxTokens
	} else {
		b.MaxTokens = req.MaxTokens
	}
	if p.takesSchema(s, req) {
		schema, strict, err := lower.ForOpenAIAnswer(req.Schema)
		if err != nil {
			return err
		}
		b.ResponseFormat = &responseFormat{"json_schema", jsonSchema{"answer", strict, schema}}
	}
	effort, off := p.effort(req, explicit, "reasoning_effort")
	b.ReasoningEffort = effort
	if off && !p.original {
		b.TemplateArgs = map[string]any{"enable_thinking": false}
	}
	p.thinkBesideTools(b)
	return nil
}

// parameters returns the optional fields of the body.
func (b *chatBody) parameters() []parameter {
	return []parameter{
		{name: "max_tokens", forms: 1},
		{name: "max_completion_tokens", forms: 1},
		{name: "temperature", forms: 1},
		{name: "top_p", forms: 1},
		{name: "seed", forms: 1},
		{name: "stop", forms: 1},
		{name: "stream_options", forms: 1},
		{name: "stream", forms: 1},
		{name: "response_format", forms: 1},
		{name: "tool_choice", forms: 1},
		{name: "reasoning_effort", forms: len(effortOff())},
		{name: "chat_template_kwargs", forms: 1},
	}
}

// paramToolEffort names a reasoning_effort in requests with tools.
const paramToolEffort = "reasoning_effort beside tools"

// effortBesideTools returns the values of reasoning_effort for a model that rejects its own with
// tools. "" omits the field.
func effortBesideTools() []string { return []string{"none", ""} }

// thinkBesideTools switches thinking off in requests with tools if the model requires that;
// without tools the setting applies.
func (p *Provider) thinkBesideTools(b *chatBody) {
	if refused := p.quirks.Refused(b.Model, paramToolEffort); refused > 0 && len(b.Tools) > 0 {
		b.ReasoningEffort = effortBesideTools()[refused-1]
	}
}

// drop removes a parameter from the body, or renames it. It reports whether it was set.
func (b *chatBody) drop(parameter string) bool {
	before := *b
	switch parameter {
	case "max_tokens":
		if b.MaxTokens > 0 {
			b.MaxTokens, b.MaxCompletionTokens = 0, b.MaxTokens
		}
		return before.MaxTokens > 0
	case "max_completion_tokens":
		if b.MaxCompletionTokens > 0 {
			b.MaxTokens, b.MaxCompletionTokens = b.MaxCompletionTokens, 0
		}
		return before.MaxCompletionTokens > 0
	case "temperature":
		b.Temperature = nil
		return before.Temperature != nil
	case "top_p":
		b.TopP = nil
		return before.TopP != nil
	case "seed":
		b.Seed = nil
		return before.Seed != nil
	case "stop":
		b.Stop = nil
		return len(before.Stop) > 0
	case "stream_options":
		b.StreamOptions = nil
		return before.StreamOptions != nil
	case "stream":
		b.Stream, b.StreamOptions = false, nil
		return before.Stream
	case "response_format":
		b.ResponseFormat = nil
		return before.ResponseFormat != nil
	case "reasoning_effort":
		return before.ReasoningEffort != "" // effort picks the next form
	case "chat_template_kwargs":
		b.TemplateArgs = nil
		return before.TemplateArgs != nil
	case "tool_choice":
		if b.ToolChoice == toolNone {
			b.Tools = nil
		}
		b.ToolChoice = ""
		return before.ToolChoice != ""
	}
	return false
}
