package offline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"molar/providers"
	"molar/schemas"
)

// Whoever asks about a subject reads what was found, and nothing of providers and keys.
func TestAnswer_aboutASubject(t *testing.T) {
	result := schemas.ToolResult{ToolName: "guide", Output: json.RawMessage(`{"results":[{"title":"Brushing","content":"Brush twice a day."}]}`)}
	failed := schemas.ToolResult{ToolName: "guide", IsError: true, Output: json.RawMessage(`"no route"`)}
	for _, tt := range []struct {
		name, lang string
		results    []schemas.ToolResult
		want       string
	}{
		{"found", "en", []schemas.ToolResult{result}, "Brush twice a day."},
		{"found, in Vietnamese", "vi", []schemas.ToolResult{result}, "trích nguyên văn"},
		{"nothing looked up", "en", nil, "I found nothing"},
		{"a failed search", "vi", []schemas.ToolResult{failed}, "Mình chưa tìm được gì"},
	} {
		req := ask("How do I brush my teeth at night?", nil)
		for _, r := range tt.results {
			m := &req.Messages[len(req.Messages)-1]
			m.Parts = append(m.Parts, schemas.Part{Kind: schemas.PartContext, Text: "fenced", Result: &r})
		}
		req.About, req.Language = "teeth and gums", tt.lang
		text := run(t, req).text
		if !strings.Contains(text, tt.want) {
			t.Errorf("%s: %q lacks %q", tt.name, text, tt.want)
		}
		for _, bad := range []string{"KEY", "Ollama", "guide", "no route", "model"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: %q speaks of %q", tt.name, text, bad)
			}
		}
	}
}

// Without a model, a tool and a search somebody sets the host up: both are named.
func TestAnswer_nothingAttached(t *testing.T) {
	for question, lang := range map[string]string{"What is the capital of France?": "en", "What can you do?": "en", "Thủ đô của Pháp là gì?": "vi"} {
		req := ask(question, nil)
		req.Language = lang
		text := run(t, req).text
		for _, want := range []string{"GEMINI_API_KEY", "Ollama", "mcpServers", "--mcp", "molar doctor"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q: %q lacks %q", question, text, want)
			}
		}
	}
}

func TestAnswer_aComplaint(t *testing.T) {
	for question, want := range map[string]string{"that was useless": "I am sorry", "trả lời chán quá": "Xin lỗi"} {
		req := ask(question, nil)
		if strings.HasPrefix(want, "X") {
			req.Language = "vi"
		}
		if text := run(t, req).text; !strings.HasPrefix(text, want) {
			t.Errorf("%q: %q", question, text)
		}
	}
}

// Who was told what to do in an emergency must not read that there is nothing.
func TestAnswer_behindAnother(t *testing.T) {
	for lang, want := range map[string]string{"en": "What I said before still holds", "vi": "đã nói ở trên vẫn đúng"} {
		req := ask("i feel ok though", nil)
		req.Messages = append([]schemas.Message{
			{Role: schemas.RoleUser, Parts: []schemas.Part{{Kind: schemas.PartText, Text: "I took 20 paracetamol"}}},
			{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartText, Text: "Call 115 now."}}},
		}, req.Messages...)
		req.About, req.Language = "teeth and gums", lang
		if text := run(t, req).text; !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}

// What was said before is not said to hold for what is told now: nobody has looked whether it does.
func TestAnswer_behindAnother_toldSomethingNew(t *testing.T) {
	for _, tt := range []struct {
		lang, message string
		holds         bool
	}{
		{"en", "she is also very sleepy and not drinking", false},
		{"en", "and now his eye is swollen, is that normal?", false},
		{"en", "it is getting worse", false},
		{"en", "the fever is still there", false},
		{"en", "now she has a fever and is teething", false},
		{"en", "it is bleeding again", false},
		{"en", "and then?", true},
		{"en", "ok, what now?", true},
		{"vi", "giờ bé li bì, bú cũng không bú", false},
		{"vi", "mắt bé cũng sưng lên rồi", false},
		{"vi", "bé vẫn còn sốt", false},
		{"vi", "bé sốt lại rồi", false},
		{"vi", "vậy thì sao ạ", true},
	} {
		req := aboutTeeth(tt.message)
		req.Language = tt.lang
		before := []schemas.Message{schemas.Text(schemas.RoleUser, "my baby has a fever, is it teething?"), schemas.Text(schemas.RoleAssistant, "Teething: it does not cause a high fever.")}
		if tt.lang == "vi" {
			before = []schemas.Message{schemas.Text(schemas.RoleUser, "bé bị sốt có phải do mọc răng không"), schemas.Text(schemas.RoleAssistant, "Mọc răng không gây sốt cao.")}
		}
		req.Messages = append(before, req.Messages...)
		text := run(t, req).text
		if holds := strings.Contains(text, "still holds") || strings.Contains(text, "vẫn đúng"); holds != tt.holds || strings.TrimSpace(text) == "" {
			t.Errorf("%q: %q", tt.message, text)
		}
	}
}

// Nor does it in the turns after that.
func TestAnswer_behindNews(t *testing.T) {
	req := aboutTeeth("she is also very sleepy and not drinking")
	req.Messages = append([]schemas.Message{
		schemas.Text(schemas.RoleUser, "my baby has a fever, is it teething?"), schemas.Text(schemas.RoleAssistant, "Teething: it does not cause a high fever."),
	}, req.Messages...)
	next := aboutTeeth("what should I do?")
	next.Messages = append(append(req.Messages, schemas.Text(schemas.RoleAssistant, run(t, req).text+"\n\nSources:")), next.Messages...)
	if text := run(t, next).text; strings.Contains(text, "still holds") || !strings.Contains(text, "may not be enough") {
		t.Errorf("%q", text)
	}
}

// Where nothing was said before, nothing of it holds.
func TestAnswer_behindNothing(t *testing.T) {
	for _, before := range []string{"Hello! How can I help you?", run(t, aboutTeeth("hm")).text} {
		req := aboutTeeth("what can I eat meanwhile")
		req.Messages = append([]schemas.Message{schemas.Text(schemas.RoleUser, "hm"), schemas.Text(schemas.RoleAssistant, before)}, req.Messages...)
		if text := run(t, req).text; strings.Contains(text, "before still holds") {
			t.Errorf("behind %q: %q", before, text)
		}
	}
}

func aboutTeeth(question string) providers.Request {
	req := ask(question, nil)
	req.About, req.Language = "teeth and gums", "en"
	return req
}

// What was quoted is not quoted again behind a follow-up: what speaks of it is told, or the
// next entry that does, or that nothing more was found. Asked for by name it comes again.
func TestAnswer_tellsNothingTwice(t *testing.T) {
	const sensitive = "Short pain comes with cold drinks. Use a paste for sensitive teeth. See a dentist when it does not pass."
	output, err := json.Marshal("Title: Teeth that are sensitive to cold (Guide)\nContent: " + sensitive +
		"\n---\nTitle: Costs of treatment\nContent: The price depends on the clinic.\n---\nTitle: Whitening\nContent: Bleach makes teeth lighter.")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ question, want, absent string }{
		{"Do I have to see a dentist?", "See a dentist when it does not pass.", "Short pain"},
		{"What is the price?", "Costs of treatment: The price depends on the clinic.\n\nAlso found: Whitening", "Short pain"},
		{"Is the cold bad?", "Short pain comes with cold drinks.", "See a dentist"},
		{"And tomorrow?", "What I said before still holds", "Bleach"},
		{"Tell me about sensitive teeth once more", sensitive, "still holds"},
	} {
		req := ask(tt.question, nil)
		m := &req.Messages[len(req.Messages)-1]
		m.Parts = append(m.Parts, schemas.Part{Kind: schemas.PartContext, Text: "fenced", Result: &schemas.ToolResult{ToolName: "guide", Output: output}})
		req.Messages = append([]schemas.Message{
			{Role: schemas.RoleUser, Parts: []schemas.Part{{Kind: schemas.PartText, Text: "My teeth hurt with cold water"}}},
			{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartText, Text: "Teeth that are sensitive to cold (Guide): " + sensitive + "\n\n1. https://a.example"}}},
		}, req.Messages...)
		req.About, req.Language = "teeth and gums", "en"
		if got := run(t, req).text; !strings.Contains(got, tt.want) || strings.Contains(got, tt.absent) {
			t.Errorf("%q: %q, want %q and not %q", tt.question, got, tt.want, tt.absent)
		}
	}
}

// Behind a follow-up another entry is quoted only if it was found nearly as surely as what was told
// before: else a word that both use leads to another subject.
func TestAnswer_quotesNoFarEntry(t *testing.T) {
	for _, tt := range []struct {
		score string
		want  string
	}{{"0.9", "It hurts little to have a tooth out."}, {"0.3", "I found nothing more on this."}} {
		output := json.RawMessage(`{"results":[{"title":"Braces","content":"Braces take two years.","score":1},` +
			`{"title":"Extraction","content":"It hurts little to have a tooth out.","score":` + tt.score + `}]}`)
		req := aboutTeeth("does it hurt?")
		m := &req.Messages[len(req.Messages)-1]
		m.Parts = append(m.Parts, schemas.Part{Kind: schemas.PartContext, Text: "fenced", Result: &schemas.ToolResult{ToolName: "guide", Output: output}})
		req.Messages = append([]schemas.Message{
			schemas.Text(schemas.RoleUser, "How long do braces take?"), schemas.Text(schemas.RoleAssistant, "Braces: Braces take two years."),
		}, req.Messages...)
		if got := run(t, req).text; !strings.Contains(got, tt.want) {
			t.Errorf("score %s: %q lacks %q", tt.score, got, tt.want)
		}
	}
}
