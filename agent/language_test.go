package agent_test

import (
	"context"
	"strings"
	"testing"

	"molar/agent/memory"
	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
)

// promptWithout returns the text of a request without the person's own words.
func promptWithout(t *testing.T, req providers.Request, question string) string {
	t.Helper()
	return strings.ReplaceAll(rendered(t, req), question, "")
}

const (
	inQuestionLanguage = "in the language of the question"
	inEnglish          = "nglish"
)

// A person who writes neither Vietnamese nor English is answered in their own language by every
// assistant: no prompt, of the answer, the title or the summary, names another language. Texts of
// the code itself are then in English.
func TestRun_otherLanguages(t *testing.T) {
	assistants := map[string]struct {
		as        schemas.Assistant
		says      bool // its prompt names the language of the answer
		questions []string
	}{
		"general":     {schemas.Assistant{}, true, []string{"Wie wird das Wetter morgen in Köln?", "¿Qué tiempo hace hoy en Sevilla?"}},
		"one's own":   {schemas.Assistant{SystemPrompt: "You look up families."}, false, []string{"Wer gehört zur Familie Meyer?", "¿Quién es de la familia Meyer?"}},
		"with search": {schemas.Assistant{SystemPrompt: "You know the guide.", Search: []string{"guide"}}, true, []string{"Was ist Karies?", "Mi duele la muela"}},
		"dental":      {schemas.Assistant{Topic: "dental", Search: []string{"guide"}}, true, []string{"Was ist Karies?", "¿Qué es una caries?"}},
	}
	for name, tt := range assistants {
		for _, question := range tt.questions {
			b := newBench(says("So ist es."))
			b.tools.add("tool-server", "guide", `{"results":[{"title":"A","content":"B","link":"https://a.example/"}]}`)
			p := b.with(t, tt.as).play(t, ask(question))
			if p.err != nil || p.done.Refused || p.done.Language != "other" || len(b.memory.saved) != 1 || b.memory.saved[0].Language != "other" {
				t.Errorf("%s, %q: %+v, %v", name, question, p.done, p.err)
				continue
			}
			if strings.Contains(p.text, "https://a.example") && !strings.Contains(p.text, "Sources:") {
				t.Errorf("%s, %q: our own text is not English: %q", name, question, p.text)
			}
			w := memory.Writer{Pick: func(context.Context, string) (providers.Route, error) { return b.route, nil }}
			x := prompts.SummaryInput{Language: b.memory.saved[0].Language, Question: question, Answer: p.text}
			if _, err := w.Title(t.Context(), x); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Summarise(t.Context(), x); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Condense(t.Context(), prompts.SummaryInput{Language: x.Language, SoFar: p.text}); err != nil {
				t.Fatal(err)
			}
			for _, req := range b.model.requests {
				text := promptWithout(t, req, question)
				if strings.Contains(text, inEnglish) || strings.Contains(text, "Việt") {
					t.Errorf("%s, %q, %s pass: the model is told of a language that nobody spoke:\n%s", name, question, req.Pass, text)
				}
				if (tt.says || req.Pass == providers.PassSummary) && req.Pass != providers.PassGuardrail && !strings.Contains(text, inQuestionLanguage) && !strings.Contains(text, "in the language that it is written in") {
					t.Errorf("%s, %q, %s pass: the model is not told which language:\n%s", name, question, req.Pass, text)
				}
			}
		}
	}
}

// An off-topic question in another language is refused in English.
func TestRun_otherLanguages_refused(t *testing.T) {
	b := newBench(says("no"))
	b.model.judge = says(`{"verdict":"NO"}`)
	p := b.with(t, schemas.Assistant{Topic: "dental"}).play(t, ask("Schreib mir bitte ein Gedicht über den Herbst"))
	if p.err != nil || !p.done.Refused || p.done.Language != "other" || !strings.HasPrefix(p.text, "Sorry, I am a dental assistant") {
		t.Errorf("%q, %+v, %v", p.text, p.done, p.err)
	}
}

// A message without a recognisable language keeps the language of the conversation, through any
// number of such turns; a message in another language is answered in that one, while the system
// prompt stays unchanged.
func TestRun_otherLanguages_goOn(t *testing.T) {
	b := newBench(says("So ist es."))
	c := &conversation{b: b.with(t, schemas.Assistant{})}
	system := ""
	for _, turn := range []struct{ question, lang, rule string }{
		{"Was ist Karies?", "other", ""},
		{"ok", "other", ""},
		{"3?", "other", ""},
		{"root canal?", "other", ""},
		{"y para los niños?", "other", ""},
		{"And how long does it take?", "en", "Answer in English, in short paragraphs."},
		{"Bao lâu thì khỏi?", "vi", "Hãy trả lời bằng tiếng Việt, thành các đoạn ngắn."},
		{"ok", "vi", "Hãy trả lời bằng tiếng Việt, thành các đoạn ngắn."},
		{"Invisalign", "vi", "Hãy trả lời bằng tiếng Việt, thành các đoạn ngắn."},
		{"Und was kostet das?", "other", ""},
	} {
		req := c.play(t, turn.question)
		if c.last.Language != turn.lang {
			t.Errorf("%q is taken for %q, want %q", turn.question, c.last.Language, turn.lang)
		}
		rule := strings.TrimSpace(strings.TrimPrefix(req.Messages[len(req.Messages)-1].FullText(), turn.question))
		if rule != turn.rule {
			t.Errorf("%q: the rule behind it is %q, want %q", turn.question, rule, turn.rule)
		}
		if system != "" && req.System != system {
			t.Errorf("%q: the system prompt became\n%s", turn.question, req.System)
		}
		system = req.System
	}
	if !strings.Contains(system, "Answer "+inQuestionLanguage+",") {
		t.Errorf("system prompt:\n%s", system)
	}
	b = newBench(says("It is so."))
	c = &conversation{b: b.with(t, schemas.Assistant{})}
	c.play(t, "What is tooth decay?")
	req := c.play(t, "Und wie lange dauert das?")
	if text := req.Messages[len(req.Messages)-1].FullText(); !strings.HasSuffix(text, "Answer "+inQuestionLanguage+", in short paragraphs.") {
		t.Errorf("a German question behind an English one: %q", text)
	}
}
