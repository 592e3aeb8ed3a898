package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas/lower"
)

// body is the body of v1/messages.
type body struct {
	Model         string            `json:"model"`
	MaxTokens     int               `json:"max_tokens"`
	System        []block           `json:"system,omitempty"`
	Messages      []message         `json:"messages"`
	Stream        bool              `json:"stream"`
	Tools         []json.RawMessage `json:"tools,omitempty"`
	ToolChoice    *typed            `json:"tool_choice,omitempty"`
	Thinking      *thinking         `json:"thinking,omitempty"`
	OutputConfig  *outputConfig     `json:"output_config,omitempty"`
	Temperature   *float64          `json:"temperature,omitempty"`
	TopP          *float64          `json:"top_p,omitempty"`
	StopSequences []string          `json:"stop_sequences,omitempty"`

	headers map[string]string
	extra   json.RawMessage
	history *history
	// eased is what this request does without, after a refusal of it.
	eased eased
}

// typed is an object with a type only.
type typed struct {
	Type string `json:"type"`
}

type outputConfig struct {
	Effort string  `json:"effort,omitempty"`
	Format *format `json:"format,omitempty"`
}

type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// maxTemperature is the highest temperature that the service takes; others take 2.
const maxTemperature = 1.0

// prepare builds the body of a request.
func (p *Provider) prepare(req providers.Request) (*body, wire.ToolSet, error) {
	fault := func(err error) (*body, wire.ToolSet, error) {
		return nil, nil, p.faults.Fail(providers.KindInvalid, req.Model, err)
	}
	if req.Model == "" {
		return fault(errors.New("no model is named: set " + p.setting + ".model"))
	}
	req = p.thinkers.Shape(req).With(p.tuning)
	set := p.lessons.Tools.Set(req.Tools, req.After)
	b := &body{
		Model: req.Model, Stream: true, Tools: set.Wire(), Temperature: req.Temperature, TopP: req.TopP,
		StopSequences: slices.DeleteFunc(slices.Clone(req.Stop), func(s string) bool { return strings.TrimSpace(s) == "" }),
		headers:       req.Headers, extra: req.ExtraBody, eased: easedBefore(req.After),
	}
	if b.Temperature != nil {
		b.Temperature = new(min(*b.Temperature, maxTemperature))
	}
	p.limit(b, req.MaxTokens)
	p.think(b, req.Thinking)
	h, err := p.history(req, set, b.eased.thoughts || b.thinksNot())
	if err != nil {
		return fault(err)
	}
	b.history, b.Messages = h, h.out
	for _, text := range h.system {
		b.System = append(b.System, textBlock(text))
	}
	p.settleThinking(b)
	none := req.ForbidCalls
	if len(b.Tools) == 0 {
		b.Tools, none = h.called(), true
	}
	switch {
	case len(b.Tools) == 0:
	case none:
		b.ToolChoice = &typed{"none"}
	case req.ToolChoice == providers.ToolRequired && (b.Thinking == nil || b.thinksNot()):
		b.ToolChoice = &typed{"any"} // a model that thinks cannot be forced
	}
	if err := p.constrain(b, req.Schema); err != nil {
		return fault(err)
	}
	p.lessons.Drop(b.Model, b.parameters())
	if p.lessons.Refused(b.Model, paramCache) == 0 {
		b.mark(h, req.Pass.IsSmall())
	}
	return b, set, nil
}

// constrain asks for an answer that matches a schema, if the service can keep it.
func (p *Provider) constrain(b *body, schema json.RawMessage) error {
	if len(schema) == 0 || b.eased.format {
		return nil
	}
	lowered, kept, err := lower.ForAnthropicAnswer(schema)
	if err != nil || !kept {
		return err
	}
	b.output().Format = &format{"json_schema", lowered}
	return nil
}

func (b *body) output() *outputConfig {
	if b.OutputConfig == nil {
		b.OutputConfig = &outputConfig{}
	}
	return b.OutputConfig
}

// post sends a body to v1/messages.
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
	req, forget, err := wire.NewPost(ctx, p.messages, whole)
	if err != nil {
		return nil, err
	}
	defer forget()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if b.Thinking != nil && b.Thinking.Binding != nil {
		req.Header.Set("Anthropic-Beta", bindingBeta)
	}
	return p.do(req, b.headers)
}
