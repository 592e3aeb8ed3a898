package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"google.golang.org/genai"

	"molar/providers"
	"molar/schemas/lower"
)

// A query is a request made ready: what the SDK is given anew for each attempt.
type query struct {
	model    string
	system   string
	contents []content
	set      toolSet
	search   bool // ground the answer with Google Search
	// said collects, for a search, what the answer takes from each page.
	said   map[string][]string
	choice providers.ToolChoice
	schema json.RawMessage

	temperature *float32
	maxTokens   int32
	stop        []string
}

// prepare checks a request and lowers it. The SDK swallows errors of marshalling
// and then sends an empty body, so everything is checked here.
func (p *Provider) prepare(req providers.Request) (*query, error) {
	invalid := func(err error) error { return p.fail(providers.KindInvalid, req.Model, err) }
	if err := checkModel(req.Model); err != nil {
		return nil, invalid(err)
	}
	q := &query{model: req.Model, choice: req.ToolChoice, stop: req.Stop}
	q.set = p.tools.lower(req.Tools, p.log)
	h, err := contents(req.Messages, q.set, wantsSignatures(req.Model))
	if err != nil {
		return nil, invalid(err)
	}
	q.contents = h.out
	if req.System != "" {
		h.system = append([]string{req.System}, h.system...)
	}
	q.system = strings.Join(h.system, "\n\n")
	if req.Temperature != nil {
		if t := *req.Temperature; math.IsNaN(t) || math.IsInf(t, 0) {
			return nil, invalid(errors.New("the temperature is no number"))
		}
		q.temperature = new(float32(*req.Temperature))
	}
	if req.MaxTokens > 0 {
		q.maxTokens = int32(min(req.MaxTokens, math.MaxInt32))
	}
	if len(req.Schema) > 0 && len(q.set.wire) == 0 {
		if q.schema, err = lower.ForGeminiAnswer(req.Schema); err != nil {
			return nil, invalid(fmt.Errorf("answer schema: %w", err))
		}
	}
	return q, nil
}

// checkModel refuses names that would change the path of the request.
func checkModel(model string) error {
	switch {
	case model == "":
		return errors.New("no model is named")
	case strings.ContainsAny(model, "?&#%\\ ") || strings.Contains(model, ".."):
		return fmt.Errorf("model name %q is not valid", model)
	}
	return nil
}

// config makes the SDK's part of the request. It is made anew for each call: the
// SDK writes into it.
func (q *query) config() *genai.GenerateContentConfig {
	cfg := &genai.GenerateContentConfig{
		HTTPOptions:     &genai.HTTPOptions{ExtrasRequestProvider: q.fill},
		Temperature:     q.temperature,
		MaxOutputTokens: q.maxTokens,
		StopSequences:   q.stop,
		// It would send further requests that nobody counts.
		AutomaticContinuation: new(false),
	}
	if q.system != "" {
		cfg.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: q.system}}}
	}
	if q.schema != nil {
		cfg.ResponseMIMEType = "application/json"
	}
	if q.search {
		cfg.Tools = []*genai.Tool{{GoogleSearch: &genai.GoogleSearch{}}}
	}
	if mode, names := q.calling(); mode != "" {
		cfg.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: mode, AllowedFunctionNames: names}}
	}
	return cfg
}

// calling maps the tool choice. A required choice of one tool names it.
func (q *query) calling() (mode genai.FunctionCallingConfigMode, names []string) {
	switch {
	case len(q.set.wire) == 0:
		return "", nil
	case q.choice == providers.ToolNone:
		return genai.FunctionCallingConfigModeNone, nil
	case q.choice != providers.ToolRequired:
		return "", nil
	case len(q.set.names) == 1:
		return genai.FunctionCallingConfigModeAny, q.set.names
	}
	return genai.FunctionCallingConfigModeAny, nil
}

// fill adds what the SDK would not carry unharmed.
func (q *query) fill(body map[string]any) map[string]any {
	body["contents"] = q.contents
	if len(q.set.wire) > 0 {
		body["tools"] = []any{map[string]any{"functionDeclarations": q.set.wire}}
	}
	if q.schema != nil {
		generation, _ := body["generationConfig"].(map[string]any)
		if generation == nil {
			generation = map[string]any{}
			body["generationConfig"] = generation
		}
		generation["responseJsonSchema"] = q.schema
	}
	return body
}

// searchQuery asks one question, grounded with Google Search.
func searchQuery(model, text string) *query {
	return &query{
		model: model, search: true, said: make(map[string][]string),
		contents: []content{{"user", []part{{Text: &text}}}},
	}
}
