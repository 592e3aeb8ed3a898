package openai

import (
	"encoding/json"

	"molar/providers"
	"molar/providers/wire"
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
	h, err := p.lowerHistory(s, req, form, chatMediaForms)
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
	effort, off := p.effort(s, req, explicit, "reasoning_effort")
	b.ReasoningEffort = effort
	if off && !p.original {
		b.TemplateArgs = map[string]any{"enable_thinking": false}
	}
	s.thinkBesideTools(b)
	return nil
}

// parameters returns the optional fields of the body.
func (b *chatBody) parameters() []wire.Parameter {
	return []wire.Parameter{
		{
			Name: paramToolEffort, Forms: len(effortBesideTools()), Note: "the model takes no " + paramToolEffort + ", asked again so that it does not think",
			About: func(r wire.Refusal) bool { return len(b.Tools) > 0 && besideTools(r) },
		},
		{Name: "max_tokens", Drop: move(&b.MaxTokens, &b.MaxCompletionTokens)},
		{Name: "max_completion_tokens", Drop: move(&b.MaxCompletionTokens, &b.MaxTokens)},
		{Name: "temperature", Drop: wire.Clear(&b.Temperature)},
		{Name: "top_p", Drop: wire.Clear(&b.TopP)},
		{Name: "seed", Drop: wire.Clear(&b.Seed)},
		{Name: "stop", Drop: wire.Clear(&b.Stop)},
		{Name: "stream_options", Drop: wire.Clear(&b.StreamOptions)},
		{Name: "stream", Drop: func() bool { b.StreamOptions = nil; return wire.Clear(&b.Stream)() }},
		{Name: "response_format", Drop: wire.Clear(&b.ResponseFormat)},
		{Name: "tool_choice", Drop: dropChoice(&b.ToolChoice, &b.Tools)},
		{Name: "reasoning_effort", Forms: len(effortOff()), Drop: func() bool { return b.ReasoningEffort != "" }}, // effort picks the next form
		{Name: "chat_template_kwargs", Drop: wire.Clear(&b.TemplateArgs)},
	}
}

// move renames a limit.
func move(from, to *int) func() bool {
	return func() bool {
		there := *from > 0
		if there {
			*from, *to = 0, *from
		}
		return there
	}
}

// dropChoice drops the choice of tools; without it the tools must go too if it forbids calls.
func dropChoice(choice *string, tools *[]json.RawMessage) func() bool {
	return func() bool {
		if *choice == toolNone {
			*tools = nil
		}
		return wire.Clear(choice)()
	}
}

// paramToolEffort names a reasoning_effort in requests with tools.
const paramToolEffort = "reasoning_effort beside tools"

// effortBesideTools returns the values of reasoning_effort for a model that rejects its own with
// tools. "" omits the field.
func effortBesideTools() []string { return []string{"none", ""} }

// thinkBesideTools switches thinking off in requests with tools if the model requires that;
// without tools the setting applies.
func (s *sending) thinkBesideTools(b *chatBody) {
	if refused := s.lessons.Refused(b.Model, paramToolEffort); refused > 0 && len(b.Tools) > 0 {
		b.ReasoningEffort = effortBesideTools()[refused-1]
	}
}
