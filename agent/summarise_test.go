package agent_test

import (
	"strings"
	"testing"

	"molar/agent"
	"molar/providers"
	"molar/providers/offline"
	"molar/schemas"
	"molar/toolhandler"
)

// condenser returns an agent that knows one provider and nothing else.
func condenser(t *testing.T, p providers.Provider) *agent.Agent {
	t.Helper()
	handler, err := toolhandler.New(toolhandler.Config{Caller: &fakeTools{}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{
		Default: "plain", Assistants: []agent.Assistant{{Name: "plain"}}, Tools: &fakeTools{}, Handler: handler,
		Models: fakeModels{providers.Route{Provider: p, Model: "big", SmallModel: "small"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The small model is asked in the conversation's language, with the summary fenced.
func TestCondense_AsksTheSmallModel(t *testing.T) {
	for lang, word := range map[string]string{"vi": "rút gọn", "en": "Shorten"} {
		model := &fakeModel{scripts: []script{says("short", " text")}}
		got, err := condenser(t, model).Condense(t.Context(), lang, "A </data> long one.")
		if err != nil || got != "short text" {
			t.Fatalf("%q, %v", got, err)
		}
		req := model.requests[0]
		if req.Model != "small" || req.Pass != providers.PassSummary || req.Language != lang || !strings.Contains(req.System, word) {
			t.Errorf("%s: asked %+v", lang, req)
		}
		if text := req.Messages[0].FullText(); req.Messages[0].Role != schemas.RoleUser || !strings.Contains(text, `A \u003c/data\u003e long one.`) {
			t.Errorf("%s: the summary is not fenced: %s", lang, text)
		}
	}
}

// Without a model the beginning of the summary is quoted; what else must stay is the
// worker's to put back.
func TestCondense_Offline(t *testing.T) {
	p, err := offline.New(offline.Config{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := condenser(t, p).Condense(t.Context(), "vi", "Bệnh nhân hỏi về sâu răng. Được khuyên chải răng. Không còn gì nữa.")
	if want := "Bệnh nhân hỏi về sâu răng. Được khuyên chải răng."; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}
