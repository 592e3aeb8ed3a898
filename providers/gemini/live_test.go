package gemini_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/gemini"
	"molar/schemas"
)

// The real service: a tool round with its signatures, a history of another model, an answer with
// a schema.
func TestLive(t *testing.T) {
	key := os.Getenv("GEMINI_API_KEY")
	if key == "" {
		t.Skip("GEMINI_API_KEY is not set: the real service is not asked")
	}
	liveModel := os.Getenv("GEMINI_TEST_MODEL")
	if liveModel == "" {
		liveModel = "gemini-flash-latest"
	}
	p := newProvider(t, gemini.Config{APIKey: key})
	req := question("What is the weather in Hà Nội right now? Use the tool.")
	req.Model, req.Tools, req.ToolChoice = liveModel, []schemas.ToolInfo{weather()}, providers.ToolRequired
	first := ask(t.Context(), p, req)
	if first.err != nil || len(first.calls) == 0 {
		t.Fatalf("no call: %+v", first)
	}
	texts := make([]string, len(first.calls))
	for i := range texts {
		texts[i] = "31 degrees and sunny"
	}
	req.ToolChoice = providers.ToolAuto
	req.Messages = append(req.Messages, first.message, results(first.calls, texts...))
	if second := ask(t.Context(), p, req); second.err != nil || !strings.Contains(second.text, "31") {
		t.Errorf("own history: %+v", second)
	}
	for i := range req.Messages[1].Parts {
		req.Messages[1].Parts[i].State = nil // as if another model had called
	}
	if third := ask(t.Context(), p, req); third.err != nil || !strings.Contains(third.text, "31") {
		t.Errorf("foreign history: %+v", third)
	}
	req = question("Name a fruit.")
	req.Model, req.Schema = liveModel, []byte(`{"type":"object","properties":{"fruit":{"type":"string"}},"required":["fruit"]}`)
	if a := ask(t.Context(), p, req); a.err != nil || !json.Valid([]byte(a.text)) {
		t.Errorf("schema: %+v", a)
	}
}
