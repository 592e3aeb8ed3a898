package offline_test

import (
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/offline"
	"molar/schemas"
)

// A greeting, thanks and the question what one can do are answered as a person would,
// without advice for operators.
func TestSmallTalk(t *testing.T) {
	p, err := offline.New(offline.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{
		"Hello!": "How can I help", "thanks a lot": "welcome", "Cảm ơn bạn nhé": "Không có gì", "xin chào bác sĩ": "Chào bạn",
		"What can you do?": "teeth and gums", "bạn làm được gì?": "teeth and gums", "Bye": "Goodbye",
	} {
		lang := "en"
		if strings.ContainsAny(question, "ảàạ") {
			lang = "vi"
		}
		var text string
		for chunk, err := range p.Stream(t.Context(), providers.Request{
			Language: lang, About: "teeth and gums.", Messages: []schemas.Message{schemas.Text(schemas.RoleUser, question)},
		}) {
			if err != nil {
				t.Fatal(err)
			}
			text += chunk.Text
		}
		if !strings.Contains(text, want) || strings.Contains(text, "API_KEY") {
			t.Errorf("%q: %q", question, text)
		}
	}
}
