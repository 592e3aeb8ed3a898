package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genai"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// Thinking budgets, in tokens, for models that take one.
const (
	leastBudget  = 128 // for models that cannot switch thinking off
	lowBudget    = 1 << 10
	mediumBudget = 8 << 10
	highBudget   = 24 << 10
)

// thinking returns the configurations that set how much a model thinks, the best first, since
// models support different ones; nil to send none.
func thinking(model string, wish schemas.Thinking) []*genai.ThinkingConfig {
	switch {
	case wish == "", before(model, "gemini-1", "gemini-2.0", "gemini-pro", "gemma"):
		return nil
	case before(model, "gemini-2"):
		return budgets(wish)
	}
	return levels(wish)
}

func budgets(wish schemas.Thinking) []*genai.ThinkingConfig {
	budget := func(n int32) *genai.ThinkingConfig {
		return &genai.ThinkingConfig{ThinkingBudget: &n, IncludeThoughts: wish != schemas.ThinkingOff}
	}
	switch wish {
	case schemas.ThinkingOff:
		return []*genai.ThinkingConfig{budget(0), budget(leastBudget)}
	case schemas.ThinkingLow:
		return []*genai.ThinkingConfig{budget(lowBudget)}
	case schemas.ThinkingMedium:
		return []*genai.ThinkingConfig{budget(mediumBudget)}
	}
	return []*genai.ThinkingConfig{budget(highBudget)}
}

func levels(wish schemas.Thinking) []*genai.ThinkingConfig {
	level := func(l genai.ThinkingLevel) *genai.ThinkingConfig {
		return &genai.ThinkingConfig{ThinkingLevel: l, IncludeThoughts: wish != schemas.ThinkingOff}
	}
	switch wish {
	case schemas.ThinkingOff:
		return []*genai.ThinkingConfig{level(genai.ThinkingLevelMinimal), level(genai.ThinkingLevelLow)}
	case schemas.ThinkingLow:
		return []*genai.ThinkingConfig{level(genai.ThinkingLevelLow)}
	case schemas.ThinkingMedium:
		return []*genai.ThinkingConfig{level(genai.ThinkingLevelMedium), level(genai.ThinkingLevelHigh)}
	}
	return []*genai.ThinkingConfig{level(genai.ThinkingLevelHigh)}
}

// isGemini3 reports whether a model is of Gemini 3 or later. Those check thought signatures, show
// files of results, and take a schema beside tools.
func isGemini3(model string) bool {
	return !before(model, "gemini-1", "gemini-2", "gemini-pro", "gemma")
}

// before reports whether the model belongs to one of the families.
func before(model string, families ...string) bool {
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	return slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(model, f) })
}

// safety returns one threshold for every category of harm.
func safety(threshold string) []*genai.SafetySetting {
	if threshold == "" {
		return nil
	}
	var all []*genai.SafetySetting
	for _, category := range []genai.HarmCategory{
		genai.HarmCategoryHarassment, genai.HarmCategoryHateSpeech,
		genai.HarmCategorySexuallyExplicit, genai.HarmCategoryDangerousContent,
	} {
		all = append(all, &genai.SafetySetting{Category: category, Threshold: genai.HarmBlockThreshold(threshold)})
	}
	return all
}

// Parameters that a model may reject.
const (
	paramThinking = "thinking"
	paramSeed     = "seed"
	paramTopP     = "topP"
	paramSchema   = "response mime type" // beside tools
)

// tune applies a request's settings to the query, without what the model is known to reject.
func (p *Provider) tune(q *query, req providers.Request) error {
	refused := func(parameter string) int { return p.lessons.Refused(req.Model, parameter) }
	if req.TopP != nil && refused(paramTopP) == 0 {
		q.topP = new(float32(*req.TopP))
	}
	if req.Seed != nil && refused(paramSeed) == 0 {
		q.seed = new(int32(*req.Seed & math.MaxInt32))
	}
	if forms := thinking(req.Model, req.Thinking); refused(paramThinking) < len(forms) {
		q.thinking = forms[refused(paramThinking)]
	}
	q.safety = p.safety
	q.headers = http.Header{}
	for name, value := range req.Headers {
		q.headers.Set(name, value)
	}
	if len(bytes.TrimSpace(req.ExtraBody)) > 0 {
		dec := json.NewDecoder(bytes.NewReader(req.ExtraBody))
		dec.UseNumber()
		if dec.Decode(&q.extra) != nil || q.extra == nil {
			return errors.New("extra_body is not a JSON object")
		}
	}
	return nil
}

// parameters returns what the model may reject in the query. If the person's messages hold files too,
// the files of results are not among it, since those may be the cause.
func (q *query) parameters() []wire.Parameter {
	var sent []wire.Parameter
	add := func(there bool, name string) {
		if there {
			sent = append(sent, wire.Parameter{Name: name, About: func(r wire.Refusal) bool {
				return r.RefusesParameter() && r.Says(strings.ToLower(name))
			}})
		}
	}
	if q.thinking != nil {
		sent = append(sent, wire.Parameter{Name: paramThinking, Forms: len(thinking(q.model, q.wish)), About: func(r wire.Refusal) bool {
			return r.IsOfRequest() && r.Says(paramThinking, "budget")
		}})
	}
	add(q.seed != nil, paramSeed)
	add(q.topP != nil, paramTopP)
	add(q.schema != nil && len(q.set) > 0, paramSchema)
	if q.shown {
		sent = append(sent, wire.Media(len(mediaForms(q.model))-1))
	}
	return sent
}
