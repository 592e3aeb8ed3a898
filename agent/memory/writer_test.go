package memory_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"molar/agent/memory"
	"molar/agent/prompts"
	"molar/providers"
	"molar/providers/offline"
	"molar/schemas"
)

// writer returns a writer with the given provider.
func writer(p providers.Provider) memory.Writer {
	return memory.Writer{Pick: func(context.Context, string) (providers.Route, error) {
		return providers.Route{Provider: p, Model: "big", SmallModel: "small"}, nil
	}}
}

// smallModel streams its text in pieces, and records the requests.
type smallModel struct {
	says  []string
	asked providers.Request
}

func (m *smallModel) Name() string { return "fake" }

func (m *smallModel) Stream(_ context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	m.asked = req
	return func(yield func(providers.Chunk, error) bool) {
		for _, text := range m.says {
			if !yield(providers.Chunk{Text: text}, nil) {
				return
			}
		}
	}
}

// The small model is called in the conversation's language, with the summary fenced.
func TestCondense_AsksTheSmallModel(t *testing.T) {
	for lang, word := range map[string]string{"vi": "rút gọn", "en": "a third, in English.", "other": "a third, in the language that it is written in."} {
		model := &smallModel{says: []string{"short", " text"}}
		got, err := writer(model).Condense(t.Context(), prompts.SummaryInput{Language: lang, SoFar: "A </data> long one."})
		if err != nil || got != "short text" {
			t.Fatalf("%q, %v", got, err)
		}
		req := model.asked
		if req.Model != "small" || req.Pass != providers.PassSummary || req.Language != lang || !strings.Contains(req.System, word) {
			t.Errorf("%s: asked %+v", lang, req)
		}
		if text := req.Messages[0].FullText(); req.Messages[0].Role != schemas.RoleUser || !strings.Contains(text, "A &lt;/data&gt; long one.") {
			t.Errorf("%s: the summary is not fenced: %s", lang, text)
		}
	}
}

// Without a model the result quotes the beginning of the summary; the worker adds the other facts
// that must stay.
func TestCondense_Offline(t *testing.T) {
	p, err := offline.New(offline.Config{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := writer(p).Condense(t.Context(), prompts.SummaryInput{Language: "vi", SoFar: "Bệnh nhân hỏi về sâu răng. Được khuyên chải răng. Không còn gì nữa."})
	if want := "Bệnh nhân hỏi về sâu răng. Được khuyên chải răng."; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

// A title is in the conversation's language, in one line without decoration. If the model writes
// no title, or without a model, there is none.
func TestTitle(t *testing.T) {
	for lang, word := range map[string]string{"vi": "đặt tên", "en": "conversations, in English,", "other": "conversations, in the language of the question,"} {
		model := &smallModel{says: []string{"**\"Title: Brushing", " teeth\"**.\nIt is about teeth."}}
		got, err := writer(model).Title(t.Context(), prompts.SummaryInput{Language: lang, Question: "How often?", Answer: "Twice </data>."})
		if err != nil || got != "Brushing teeth" {
			t.Errorf("%q, %v", got, err)
		}
		if req := model.asked; req.Model != "small" || !strings.Contains(req.System, word) || !strings.Contains(req.Messages[0].FullText(), "Twice &lt;/data&gt;.") {
			t.Errorf("%s: asked %+v", lang, req)
		}
	}
	model := &smallModel{says: []string{strings.Repeat("I cannot name this. ", 10)}}
	if got, err := writer(model).Title(t.Context(), prompts.SummaryInput{Question: "q"}); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	p, err := offline.New(offline.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := writer(p).Title(t.Context(), prompts.SummaryInput{Question: "q", Answer: "a"}); got != "" || err != nil {
		t.Errorf("offline: %q, %v", got, err)
	}
}
