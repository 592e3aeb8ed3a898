package openai

import (
	"encoding/json"
	"errors"
	"slices"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas/lower"
	"molar/schemas/responses"
)

// responsesBody is the body of a request to responses
// (https://platform.openai.com/docs/api-reference/responses/create). Nothing is stored there: each
// request holds the whole conversation.
type responsesBody struct {
	Model           string               `json:"model"`
	Instructions    string               `json:"instructions,omitempty"`
	Input           []json.RawMessage    `json:"input"`
	Stream          bool                 `json:"stream"`
	Store           bool                 `json:"store"`
	Include         []string             `json:"include,omitempty"`
	Tools           []json.RawMessage    `json:"tools,omitempty"`
	ToolChoice      string               `json:"tool_choice,omitempty"`
	Temperature     *float64             `json:"temperature,omitempty"`
	TopP            *float64             `json:"top_p,omitempty"`
	MaxOutputTokens int                  `json:"max_output_tokens,omitempty"`
	Reasoning       *reasoningRequest    `json:"reasoning,omitempty"`
	Text            *responses.TextField `json:"text,omitempty"`
}

// A reasoningRequest says how much a model thinks, and whether it sums its thoughts up.
type reasoningRequest struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// includeThoughts asks for the reasoning in a form that only the service can read, so that it can be
// sent back though nothing is stored.
const includeThoughts = "reasoning.encrypted_content"

// responsesBody builds the body of a request to responses.
func (p *Provider) responsesBody(s *sending, req providers.Request, explicit bool) error {
	b := &responsesBody{
		Model: req.Model, Stream: true, Tools: s.set.Wire(),
		Temperature: req.Temperature, TopP: req.TopP, MaxOutputTokens: req.MaxTokens,
	}
	_, stale := errors.AsType[staleThoughtsError](req.After)
	form := &responsesForm{forgets: stale}
	h, err := p.lowerHistory(s, req, form, responsesMediaForms)
	if err != nil {
		return err
	}
	s.body, s.shown, s.mediaForms, s.thoughts = b, h.shown && !h.own, responsesMediaForms, form.thoughts
	b.Instructions, b.Input = form.instructions, slices.Concat([]json.RawMessage{}, form.out)
	if len(b.Tools) > 0 {
		b.ToolChoice = choiceOf(req)
	}
	if p.takesSchema(s, req) {
		if err := b.shape(req.Schema); err != nil {
			return err
		}
	}
	effort, off := p.effort(s, req, explicit, paramEffort)
	think := reasoningRequest{Effort: effort}
	if !req.Pass.IsSmall() { // nobody reads the thoughts of a small pass, and nothing follows it
		b.Include = []string{includeThoughts}
		if !off {
			think.Summary = "auto"
		}
	}
	if think != (reasoningRequest{}) {
		b.Reasoning = &think
	}
	s.notes = unsaid(req)
	return nil
}

// unsaid returns notes of what this wire has no field for.
func unsaid(req providers.Request) []string {
	var notes []string
	if len(req.Stop) > 0 {
		notes = append(notes, "the Responses API has no stop sequences: left out")
	}
	if req.Seed != nil {
		notes = append(notes, "the Responses API has no seed: left out")
	}
	return notes
}

// shape asks for an answer that matches a JSON Schema.
func (b *responsesBody) shape(want json.RawMessage) error {
	schema, strict, err := lower.ForOpenAIAnswer(want)
	if err != nil {
		return err
	}
	b.Text = &responses.TextField{Format: responses.TextFormat{Type: "json_schema", Name: "answer", Strict: &strict, Schema: schema}}
	return nil
}

// The names of parameters, most inside objects.
const (
	paramInclude = "include"
	paramEffort  = "reasoning.effort"
	paramSummary = "reasoning.summary"
	paramFormat  = "text.format"
)

// parameters returns the optional fields of the body.
func (b *responsesBody) parameters() []wire.Parameter {
	dropSummary := func() bool {
		there := b.Reasoning != nil && b.Reasoning.Summary != ""
		b.think(func(r *reasoningRequest) { r.Summary = "" })
		return there
	}
	named := func(name, orSaid string) func(wire.Refusal) bool {
		return func(r wire.Refusal) bool { return r.RefusesParameter() && (r.Names(name) || r.Says(orSaid)) }
	}
	return []wire.Parameter{
		{Name: paramInclude, About: named(paramInclude, "encrypted content is not supported"), Drop: func() bool {
			dropSummary() // a model without such reasoning does not reason, and has no summary either
			return wire.Clear(&b.Include)()
		}},
		{Name: paramSummary, About: named(paramSummary, "reasoning summar"), Drop: dropSummary},
		{Name: paramEffort, Forms: len(effortOff()), Drop: func() bool { return b.Reasoning != nil && b.Reasoning.Effort != "" }}, // effort picks the next form
		{Name: "temperature", Drop: wire.Clear(&b.Temperature)},
		{Name: "top_p", Drop: wire.Clear(&b.TopP)},
		{Name: "max_output_tokens", Drop: wire.Clear(&b.MaxOutputTokens)},
		{Name: "stream", Drop: wire.Clear(&b.Stream)},
		{Name: "tool_choice", Drop: dropChoice(&b.ToolChoice, &b.Tools)},
		{Name: paramFormat, Drop: wire.Clear(&b.Text)},
	}
}

// think changes the field reasoning, and leaves it out if nothing is left in it.
func (b *responsesBody) think(change func(*reasoningRequest)) {
	if b.Reasoning == nil {
		return
	}
	r := *b.Reasoning
	if change(&r); r == (reasoningRequest{}) {
		b.Reasoning = nil
		return
	}
	b.Reasoning = &r
}
