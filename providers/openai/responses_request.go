package openai

import (
	"encoding/json"
	"errors"
	"slices"

	"molar/providers"
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
	h, err := p.lowerHistory(req, s.set, form, responsesMediaForms)
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
	effort, off := p.effort(req, explicit, paramEffort)
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

// The names of parameters inside objects.
const (
	paramEffort  = "reasoning.effort"
	paramSummary = "reasoning.summary"
	paramFormat  = "text.format"
)

// parameters returns the optional fields of the body.
func (b *responsesBody) parameters() []parameter {
	return []parameter{
		{name: "include", forms: 1, said: "encrypted content is not supported"},
		{name: paramSummary, forms: 1, said: "reasoning summar"},
		{name: paramEffort, forms: len(effortOff())},
		{name: "temperature", forms: 1},
		{name: "top_p", forms: 1},
		{name: "max_output_tokens", forms: 1},
		{name: "stream", forms: 1},
		{name: "tool_choice", forms: 1},
		{name: paramFormat, forms: 1},
	}
}

// drop removes a parameter from the body. It reports whether it was set.
func (b *responsesBody) drop(parameter string) bool {
	before := *b
	switch parameter {
	case "include":
		// A model without such reasoning does not reason, and has no summary either.
		b.Include = nil
		b.think(func(r *reasoningRequest) { r.Summary = "" })
		return len(before.Include) > 0
	case paramSummary:
		b.think(func(r *reasoningRequest) { r.Summary = "" })
		return before.Reasoning != nil && before.Reasoning.Summary != ""
	case paramEffort:
		return before.Reasoning != nil && before.Reasoning.Effort != "" // effort picks the next form
	case "temperature":
		b.Temperature = nil
		return before.Temperature != nil
	case "top_p":
		b.TopP = nil
		return before.TopP != nil
	case "max_output_tokens":
		b.MaxOutputTokens = 0
		return before.MaxOutputTokens > 0
	case "stream":
		b.Stream = false
		return before.Stream
	case paramFormat:
		b.Text = nil
		return before.Text != nil
	case "tool_choice":
		if b.ToolChoice == toolNone {
			b.Tools = nil
		}
		b.ToolChoice = ""
		return before.ToolChoice != ""
	}
	return false
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
