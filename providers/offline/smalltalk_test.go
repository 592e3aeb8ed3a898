package offline_test

import (
	"os"
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
		"trả lời vậy vô ích quá": "Xin lỗi", "Your answer was useless": "sorry", "can you say that in Vietnamese?": "language of the question",
		"nói lại bằng tiếng Anh giùm": "ngôn ngữ của câu hỏi", "shorter please": "one point", "nói ngắn thôi ạ": "từng ý", "ok tks nha": "welcome", "mày là ai": "teeth and gums", "bạn có phải bác sĩ không ạ": "không phải người thật", "ok": "something else", "oke bạn, hiểu rồi": "hỏi thêm gì", "are you a bot?": "not a person", "is this written by a doctor?": "not a person", "bạn là máy à": "không phải người thật", "dài quá, một câu thôi ạ": "từng ý",
	} {
		lang := "en"
		if strings.ContainsAny(question, "ảàạằểắọ") {
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

// Whoever reviews what patients read finds all of it on one page.
func TestFixedTexts_StandInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/texts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range offline.FixedTexts() {
		if !strings.Contains(string(page), text) {
			t.Errorf("not in docs/reference/texts.md: %s", text)
		}
	}
}
