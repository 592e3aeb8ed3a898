package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
	"molar/schemas/lower"
)

// A query is a prepared request, from which each attempt gets fresh SDK parameters.
type query struct {
	model    string
	system   string
	contents []*genai.Content
	set      wire.ToolSet
	search   bool // ground the answer with Google Search
	// quotes collects, for a search, the sentences that rest on each page.
	quotes map[string][]string
	choice providers.ToolChoice
	forbid bool // calls are forbidden
	schema verbatim

	temperature, topP *float32
	seed              *int32
	maxTokens         int32
	stop              []string
	wish              schemas.Thinking
	thinking          *genai.ThinkingConfig
	safety            []*genai.SafetySetting
	headers           http.Header
	extra             map[string]any
	// shown is set if the contents hold files of tool results, and none of a person's.
	shown bool
}

// prepare checks a request and lowers it. The SDK ignores marshalling errors and then sends an
// empty body, so everything is checked here.
func (p *Provider) prepare(req providers.Request) (*query, error) {
	invalid := func(err error) error { return p.faults.Fail(providers.KindInvalid, req.Model, err) }
	if err := checkModel(req.Model); err != nil {
		return nil, invalid(err)
	}
	req = p.thinkers.Shape(req).With(p.tuning)
	q := &query{model: req.Model, choice: req.ToolChoice, forbid: req.ForbidCalls, stop: req.Stop, wish: req.Thinking}
	if err := p.tune(q, req); err != nil {
		return nil, invalid(err)
	}
	q.set = p.lessons.Tools.Set(req.Tools, req.After)
	h, err := contents(p.name, req.Messages, q.set, isGemini3(req.Model), p.mediaForm(req.Model))
	if err != nil {
		return nil, invalid(err)
	}
	q.contents, q.shown = h.out, h.shown && !h.own
	if req.System != "" {
		h.system = append([]string{req.System}, h.system...)
	}
	q.system = strings.Join(h.system, "\n\n")
	if req.Temperature != nil {
		if t := *req.Temperature; math.IsNaN(t) || math.IsInf(t, 0) {
			return nil, invalid(errors.New("the temperature is not a number"))
		}
		q.temperature = new(float32(*req.Temperature))
	}
	if req.MaxTokens > 0 {
		q.maxTokens = int32(min(req.MaxTokens, math.MaxInt32))
	}
	if len(req.Schema) > 0 && (len(q.set) == 0 || p.SchemaBesideTools(req.Model, req.Schema)) {
		schema, err := lower.ForGeminiAnswer(req.Schema)
		if err != nil {
			return nil, invalid(fmt.Errorf("answer schema: %w", err))
		}
		q.schema = verbatim(schema)
	}
	return q, nil
}

// SchemaBesideTools reports whether a model takes a schema for its answer together with tools, which
// Gemini does since version 3 (https://ai.google.dev/gemini-api/docs/structured-output).
func (p *Provider) SchemaBesideTools(model string, _ json.RawMessage) bool {
	return isGemini3(model) && p.lessons.Refused(model, paramSchema) == 0
}

// checkModel rejects names that would change the path of the request.
func checkModel(model string) error {
	switch {
	case model == "":
		return errors.New("no model is named")
	case strings.ContainsAny(model, "?&#%\\ ") || strings.Contains(model, ".."):
		return fmt.Errorf("model name %q is not valid", model)
	}
	return nil
}

// config returns the SDK's configuration of the request, new for each call because the SDK writes
// into it.
func (q *query) config() *genai.GenerateContentConfig {
	cfg := &genai.GenerateContentConfig{
		HTTPOptions:     &genai.HTTPOptions{ExtrasRequestProvider: mendBody, Headers: q.headers, ExtraBody: q.extra},
		Temperature:     q.temperature,
		TopP:            q.topP,
		Seed:            q.seed,
		ThinkingConfig:  q.thinking,
		SafetySettings:  q.safety,
		MaxOutputTokens: q.maxTokens,
		StopSequences:   q.stop,
		// It would send further requests that are not counted.
		AutomaticContinuation: new(false),
	}
	if q.system != "" {
		cfg.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: q.system}}}
	}
	if q.schema != nil {
		cfg.ResponseMIMEType, cfg.ResponseJsonSchema = "application/json", q.schema
	}
	switch {
	case q.search:
		cfg.Tools = []*genai.Tool{{GoogleSearch: &genai.GoogleSearch{}}}
	case len(q.set) > 0:
		cfg.Tools = []*genai.Tool{{FunctionDeclarations: declarations(q.set)}}
	}
	if mode, names := q.calling(); mode != "" {
		cfg.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: mode, AllowedFunctionNames: names}}
	}
	return cfg
}

// calling maps the tool choice. A required choice of one tool names it.
func (q *query) calling() (mode genai.FunctionCallingConfigMode, names []string) {
	switch {
	case len(q.set) == 0:
		return "", nil
	case q.forbid:
		return genai.FunctionCallingConfigModeNone, nil
	case q.choice != providers.ToolRequired:
		return "", nil
	case len(q.set) == 1:
		return genai.FunctionCallingConfigModeAny, []string{q.set[0].Info.Name}
	}
	return genai.FunctionCallingConfigModeAny, nil
}

// searchQuery returns one question, grounded with Google Search.
func searchQuery(model, text string) *query {
	return &query{
		model: model, search: true, quotes: make(map[string][]string),
		contents: genai.Text(text),
	}
}
