package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
	"molar/schemas/lower"
)

// body is the body of chat/completions.
type body struct {
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

	headers map[string]string
	extra   json.RawMessage
	// shown is set if the messages hold files of tool results, and none of a person's.
	shown bool
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

// toolNone forbids calls.
const toolNone = "none"

// prepare builds the body of a request.
func (p *Provider) prepare(req providers.Request) (*body, wire.ToolSet, error) {
	if req.Model == "" {
		return nil, nil, p.faults.Fail(providers.KindInvalid, "", errors.New("no model is named: set "+p.setting+".model"))
	}
	explicit := cmp.Or(req.Thinking, p.tuning.Thinking) != ""
	req = p.thinkers.Shape(req).With(p.tuning)
	set := p.tools.Set(req.Tools, req.After)
	b := &body{
		Model: req.Model, Stream: true, StreamOptions: &streamOptions{IncludeUsage: true},
		Tools: set.Wire(), Temperature: req.Temperature, TopP: req.TopP, Seed: req.Seed, Stop: req.Stop,
		headers: req.Headers, extra: req.ExtraBody,
	}
	h, err := p.messages(req, set)
	if err != nil {
		return nil, nil, p.faults.Fail(providers.KindInvalid, req.Model, err)
	}
	b.Messages, b.shown = h.out, h.shown && !h.own
	switch {
	case len(b.Tools) == 0:
	case req.ForbidCalls:
		b.ToolChoice = toolNone
	case req.ToolChoice == providers.ToolRequired:
		b.ToolChoice = string(providers.ToolRequired)
	}
	if p.original {
		b.MaxCompletionTokens = req.MaxTokens
	} else {
		b.MaxTokens = req.MaxTokens
	}
	if len(b.Tools) == 0 && len(req.Schema) > 0 {
		schema, strict, err := lower.ForOpenAIAnswer(req.Schema)
		if err != nil {
			return nil, nil, p.faults.Fail(providers.KindInvalid, req.Model, err)
		}
		b.ResponseFormat = &responseFormat{"json_schema", jsonSchema{"answer", strict, schema}}
	}
	p.think(b, req, explicit)
	p.thinkBesideTools(b)
	p.dropRefused(b)
	return b, set, nil
}

// post sends a body to chat/completions.
func (p *Provider) post(ctx context.Context, b *body) (*http.Response, error) {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(b); err != nil {
		return nil, p.faults.Fail(providers.KindInvalid, b.Model, err)
	}
	whole, err := wire.Merge(data.Bytes(), b.extra)
	if err != nil {
		return nil, p.faults.Fail(providers.KindInvalid, b.Model, err)
	}
	req, forget, err := wire.NewPost(ctx, p.chat, whole)
	if err != nil {
		return nil, err
	}
	defer forget()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	return p.do(req, b.headers)
}

// parameters returns the optional fields of the body, in the order in which they are dropped, and
// how many other forms each has.
func parameters() []parameter {
	return []parameter{
		{"max_tokens", 1},
		{"max_completion_tokens", 1},
		{"temperature", 1},
		{"top_p", 1},
		{"seed", 1},
		{"stop", 1},
		{"stream_options", 1},
		{"response_format", 1},
		{"tool_choice", 1},
		{"reasoning_effort", len(effortOff())},
		{"chat_template_kwargs", 1},
	}
}

// paramMedia names the files of tool results as a parameter.
const paramMedia = "files of results"

type parameter struct {
	name  string
	forms int
}

// effortOff returns the values of reasoning_effort for the least thinking: models accept
// different ones. "" omits the field.
func effortOff() []string { return []string{"none", "minimal", "low", ""} }

// think sets how much the model thinks. Without a setting it only switches thinking off for a
// model that is known to think, in the passes of the small model.
func (p *Provider) think(b *body, req providers.Request, explicit bool) {
	if req.Thinking == "" || !explicit && !p.thinkers.Known(req.Model) {
		return
	}
	refused := p.quirks.Refused(req.Model, "reasoning_effort")
	if req.Thinking != schemas.ThinkingOff {
		if refused == 0 {
			b.ReasoningEffort = string(req.Thinking)
		}
		return
	}
	if forms := effortOff(); refused < len(forms) {
		b.ReasoningEffort = forms[refused]
	}
	if !p.original {
		b.TemplateArgs = map[string]any{"enable_thinking": false}
	}
}

// paramToolEffort names a reasoning_effort in requests with tools.
const paramToolEffort = "reasoning_effort beside tools"

// effortBesideTools returns the values of reasoning_effort for a model that rejects its own with
// tools. "" omits the field.
func effortBesideTools() []string { return []string{"none", ""} }

// thinkBesideTools switches thinking off in requests with tools if the model requires that;
// without tools the setting applies.
func (p *Provider) thinkBesideTools(b *body) {
	if refused := p.quirks.Refused(b.Model, paramToolEffort); refused > 0 && len(b.Tools) > 0 {
		b.ReasoningEffort = effortBesideTools()[refused-1]
	}
}

// drop removes a parameter from the body, or renames it. It reports whether it was set.
func (b *body) drop(parameter string) bool {
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
	case "response_format":
		b.ResponseFormat = nil
		return before.ResponseFormat != nil
	case "reasoning_effort":
		return before.ReasoningEffort != "" // think picks the next form
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

// dropRefused removes from the body what its model is known to reject.
func (p *Provider) dropRefused(b *body) {
	for _, parameter := range parameters() {
		if p.quirks.Refused(b.Model, parameter.name) > 0 {
			b.drop(parameter.name)
		}
	}
}

// learn reads a refusal. If it names a parameter of the body, learn drops or changes it from now
// on and returns a note of that.
func (p *Provider) learn(b *body, status int, f fault) string {
	if b.shown && status >= 400 && wire.RefusesMedia(f.message) && p.quirks.Learn(b.Model, paramMedia, 1) {
		return without(paramMedia)
	}
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity || !wire.RefusesParameter(f.code+" "+f.message) {
		return ""
	}
	if f.besideTools(b) && p.quirks.Learn(b.Model, paramToolEffort, len(effortBesideTools())) {
		p.log.Warn("the model takes tools only when it does not think: requests with tools ask for no reasoning_effort from now on", "model", b.Model)
		return "the model takes no " + paramToolEffort + ", asked again so that it does not think"
	}
	for _, parameter := range parameters() {
		if f.names(parameter.name) && b.drop(parameter.name) && p.quirks.Learn(b.Model, parameter.name, parameter.forms) {
			return without(parameter.name)
		}
	}
	return ""
}

func without(parameter string) string {
	return "the model does not take " + parameter + ", asked again without it"
}

// besideTools reports whether a model that is offered tools rejects thinking with them. It may do
// so without a requested effort, because of its default.
func (f fault) besideTools(b *body) bool {
	return len(b.Tools) > 0 && f.names("reasoning_effort") && strings.Contains(strings.ToLower(f.message), "tools")
}

// names reports whether the fault names a parameter. The text must quote it if it is an English
// word.
func (f fault) names(parameter string) bool {
	if f.param != "" {
		return f.param == parameter
	}
	if strings.Contains(parameter, "_") {
		return strings.Contains(f.message, parameter)
	}
	for _, quote := range []string{"'", `"`, "`"} {
		if strings.Contains(f.message, quote+parameter+quote) {
			return true
		}
	}
	return false
}
