package offline_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/offline"
	"molar/schemas"
)

const (
	about     = "teeth and gums."
	brushing  = `{"results":[{"title":"Brushing","content":"Brush twice a day.","link":"https://b.example","score":0.9},{"title":"Other","content":"Nothing of interest.","score":0.1}]}`
	sensitive = "Short pain comes with cold drinks. Use a paste for sensitive teeth. See a dentist when it does not pass."
	cold      = "Title: Teeth that are sensitive to cold (Guide)\nContent: " + sensitive + "\nLink: https://a.example" +
		"\n---\nTitle: Costs of treatment\nContent: The price depends on the clinic.\n---\nTitle: Whitening\nContent: Bleach makes teeth lighter."
	earlierCold = "Teeth that are sensitive to cold (Guide): " + sensitive + "\n\n1. https://a.example"
	braces      = `{"results":[{"title":"Braces","content":"Braces take two years.","score":1},{"title":"Extraction","content":"It hurts little to have a tooth out.","score":SCORE}]}`
	teething    = "Teething: it does not cause a high fever."
	none        = "I found nothing to quote for this. Please ask a whole question, and I will look again. You can ask me about: teeth and gums."
	noneVI      = "chưa tìm được gì để trích cho câu này. Bạn hỏi bằng một câu đầy đủ giúp mình nhé. Bạn có thể hỏi mình về: teeth and gums."
	nothingYet  = "I am an automatic assistant that quotes what is written, and " + none
	earlier     = "What I said before was about what you had told me then. If something is new or has got worse, it may not be enough"
	earlierVI   = "Những điều mình đã nói là cho những gì bạn kể lúc đó. Nếu có điều gì mới hoặc nặng hơn, chúng có thể chưa đủ"
)

// answerCase is a message, the result that code looked up for it, and the previous answer.
type answerCase struct {
	lang, about, question, before, found string
	failed                               bool
	want                                 string
	absent                               []string
}

func (s answerCase) request() providers.Request {
	var req providers.Request
	if s.before != "" {
		req.Messages = []schemas.Message{schemas.Text(schemas.RoleUser, "An older question"), schemas.Text(schemas.RoleAssistant, s.before)}
	}
	m := schemas.Text(schemas.RoleUser, s.question)
	if s.found != "" {
		m.Parts = append(m.Parts, schemas.Part{Kind: schemas.PartContext, Text: "fenced", Result: &schemas.ToolResult{ToolName: "guide", Output: output(s.found), IsError: s.failed}})
	}
	req.Pass, req.Messages, req.About, req.Language = providers.PassAnswer, append(req.Messages, m), s.about, s.lang
	return req
}

// output returns JSON unchanged, and other text as a JSON string.
func output(s string) json.RawMessage {
	if strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		return json.RawMessage(s)
	}
	return schemas.TextOutput(s)
}

// For a question about a subject the answer quotes what was found, and mentions no providers and
// keys; text that was quoted before is not quoted again, unless it is requested
// by name.
func TestAnswer_aboutASubject(t *testing.T) {
	setup := []string{"KEY", "Ollama", "guide", "no route", "model"}
	for _, s := range []answerCase{
		{"en", about, "How do I brush my teeth at night?", "", brushing, false, "Brushing: Brush twice a day.\n\nAlso found: Other\n\n(This is quoted", []string{"score", "https://", "Nothing of interest"}},
		{"vi", about, "Đánh răng thế nào?", "", brushing, false, "Cũng tìm thấy: Other\n\n(Nội dung trên được trích nguyên văn", nil},
		{"en", about, "What hurts with cold drinks?", "", cold, false, "Teeth that are sensitive to cold (Guide): " + sensitive + "\n\nAlso found: Costs of treatment; Whitening", []string{"Title", "Link", "---"}},
		{"en", about, "How do I brush my teeth at night?", "", "", false, none, nil},
		{"vi", about, "Đánh răng ban đêm thế nào?", "", "no route", true, noneVI, nil},

		{"en", about, "Do I have to see a dentist?", earlierCold, cold, false, "See a dentist when it does not pass.", []string{"Short pain"}},
		{"en", about, "What is the price?", earlierCold, cold, false, "Costs of treatment: The price depends on the clinic.\n\nAlso found: Whitening", []string{"Short pain"}},
		{"en", about, "Is the cold bad?", earlierCold, cold, false, "Short pain comes with cold drinks.", []string{"See a dentist"}},
		{"en", about, "And tomorrow?", earlierCold, cold, false, earlier, []string{"Bleach"}},
		{"en", about, "Tell me about sensitive teeth once more", earlierCold, cold, false, sensitive, []string{"What I said before"}},
		// A shared word leads to another subject, unless that passage was found with nearly the
		// same score.
		{"en", about, "does it hurt?", "Braces: Braces take two years.", strings.Replace(braces, "SCORE", "0.9", 1), false, "It hurts little", nil},
		{"en", about, "does it hurt?", "Braces: Braces take two years.", strings.Replace(braces, "SCORE", "0.3", 1), false, "I found nothing more for this.", []string{"hurts little"}},

		// After advice for an emergency the answer must not be that nothing was found, nor that the
		// advice covers new symptoms, which nothing has checked.
		{"en", about, "i feel ok though", "Call 115 now.", "", false, earlier, nil},
		{"vi", about, "vậy thì sao ạ", "Gọi 115 ngay.", "", false, earlierVI, nil},
		{"en", about, "ok, what now?", teething, "", false, earlier, nil},
		{"en", about, "she is also very sleepy and not drinking", teething, "", false, earlier, nil},
		{"en", about, "the fever is still there", teething, "", false, earlier, nil},
		{"vi", about, "giờ bé li bì, bú cũng không bú", "Mọc răng không gây sốt cao.", "", false, earlierVI, nil},
		{"vi", about, "bé sốt lại rồi", "Mọc răng không gây sốt cao.", "", false, earlierVI, nil},

		// If nothing was answered before, no answer refers to it.
		{"en", about, "what can I eat meanwhile", nothingYet, "", false, none, []string{"What I said before"}},
		{"en", about, "what can I eat meanwhile", "Call 115 now.\n\n" + nothingYet, "", false, earlier, nil},
		{"vi", about, "chào bạn", nothingYet, "", false, noneVI, []string{"đã nói"}},

		{"en", about, "hello, my gums have been bleeding since yesterday evening", "", "", false, none, nil},
		{"en", about, "Hello!", "", "", false, none, nil},
		{"vi", about, "mày là ai", "", "", false, noneVI, nil},
		{"en", about, "are you a bot?", "", "", false, "I am an automatic assistant", nil},
		{"vi", about, "bạn là máy à", "Gọi 115 ngay.", "", false, "Mình là trợ lý tự động", nil},
	} {
		text := run(t, s.request()).text
		if !strings.Contains(text, s.want) {
			t.Errorf("%q: %q lacks %q", s.question, text, s.want)
		}
		for _, bad := range append(s.absent, setup...) {
			if strings.Contains(text, bad) {
				t.Errorf("%q: %q holds %q", s.question, text, bad)
			}
		}
	}
}

// The users of an assistant with a subject cannot change its setup: tools are not named to them, nor
// how to get a model.
func TestAnswer_aboutASubjectWithTools(t *testing.T) {
	req := ask("Tell me a joke", tuningTools())
	req.About, req.Language = about, "en"
	if text := run(t, req).text; !strings.HasSuffix(text, none) || strings.Contains(text, "KEY") || strings.Contains(text, "files__read_file") {
		t.Errorf("%q", text)
	}
}

// A question without a subject gets the answer that there is no model, and how to get one.
func TestAnswer_saysThatItIsNoModel(t *testing.T) {
	found := answerCase{question: "What helps against plaque?", found: "Title: Plaque\nContent: Floss daily.", before: "An older answer"}
	for _, tt := range []struct {
		lang string
		req  providers.Request
		want []string
	}{
		{"en", found.request(), []string{"Plaque: Floss daily.\n\n(No model is configured"}},
		{"en", ask("What is the capital of France?", nil), []string{"Ollama", "mcpServers", "--mcp", "molar doctor"}},
		{"en", ask("What can you do?", nil), []string{"Ollama", "mcpServers", "--mcp", "molar doctor"}},
		{"vi", ask("Thủ đô của Pháp là gì?", nil), []string{"Ollama", "mcpServers", "--mcp", "molar doctor"}},
		{"en", ask("Tell me a joke", tuningTools()), []string{"No model is configured", "Tools at hand: files__read_file, ", ", …."}},
		{"vi", ask("Kể chuyện cười đi", tuningTools()), []string{"Chưa cấu hình mô hình nào", "Các công cụ đang có: files__read_file"}},
		{"vi", after(schemas.ToolResult{ToolName: "guide", Output: output("Hai lần mỗi ngày.")}), []string{"Kết quả từ guide:\nHai lần mỗi ngày.\n\n(Chưa cấu hình mô hình nào"}},
	} {
		tt.req.Language = tt.lang
		text := run(t, tt.req).text
		for _, w := range append(tt.want, "GEMINI_API_KEY", "OPENAI_API_KEY") {
			if !strings.Contains(text, w) || strings.Contains(text, "older") {
				t.Errorf("lacks %q: %s", w, text)
			}
		}
	}
}

// after returns a request in which a tool was called and returned a result.
func after(result schemas.ToolResult) providers.Request {
	req := ask("How do I brush?", nil)
	req.Pass = providers.PassAnswer
	call := schemas.Part{Kind: schemas.PartCall, Call: &schemas.ToolCall{}}
	gave := schemas.Part{Kind: schemas.PartResult, Text: "fenced", Result: &result}
	req.Messages = append(req.Messages, schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{call}}, schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{gave}})
	return req
}

// Results of calls are quoted in readable lines, up to a limit, at the end of a sentence.
func TestAnswer_quotesCalls(t *testing.T) {
	family := `{"familyId":"` + idA + `","name":"Nguyen","address":"","page":"https://a.example","members":[
		{"id":"m1","name":"Nguyen Van A","dob":"1970-01-01","parents":[]},
		{"id":"m2","name":"Tran Thi B","children":[{"name":"Nguyen Van C"}]}]}`
	rinse := func(n int) string { return strings.Repeat("Rinse the mouth with salt water. ", n) }
	many, err := json.Marshal(strings.Fields(strings.Repeat("entry ", 500)))
	if err != nil {
		t.Fatal(err)
	}
	const failed = true
	for name, tt := range map[string]struct {
		output string
		failed bool
		want   string
	}{
		"nested objects": {family, !failed, "Result of t:\nfamilyId: " + idA + "\nname: Nguyen\nmembers:\n  - id: m1, name: Nguyen Van A, dob: 1970-01-01\n  - id: m2\n    name: Tran Thi B\n    children:\n      - name: Nguyen Van C\n\n("},
		"plain text":     {`"hello there"`, !failed, "Result of t:\nhello there\n\n("},
		"a number":       {`12345678901234567890`, !failed, "Result of t:\n12345678901234567890\n\n("},
		"a list":         {`["a","b",3]`, !failed, "Result of t:\n- a\n- b\n- 3\n\n("},
		"an error":       {`"no such file"`, failed, "The tool t reported an error: no such file\n\n("},
		"a bare error":   {``, failed, "The tool t reported an error without a reason.\n\n("},
		"an empty list":  {`[]`, !failed, "The tool t returned no results.\n\n("},
		"an empty text":  {`""`, !failed, "The tool t returned no results.\n\n("},
		"no JSON at all": {`{"a":`, !failed, "Result of t:\n{\"a\":\n\n("},
		"a whole entry":  {`"Title: Abscess\nContent: ` + rinse(60) + `See a dentist."`, !failed, "Result of t:\nAbscess: " + rinse(60) + "See a dentist.\n\n("},
		"only titles":    {`"Title: Abscess\nContent: \nLink: https://a.example\n---\nTitle: Abrasion\nContent: "`, !failed, "Result of t:\nAbscess\n\nAlso found: Abrasion\n\n("},
		"no entries":     {`{"results":[{"title":"Abscess","content":""}]}`, !failed, "Result of t:\nresults:\n  - title: Abscess\n\n("},
		"a long text":    {`"` + rinse(100) + `"`, !failed, "salt water. …\n\n("},
		"a long field":   {`{"advice":"` + rinse(20) + `"}`, !failed, "salt water. …\n\n("},
		"many entries":   {string(many), !failed, "- entry\n- … (+480)\n\n("},
		"one long word":  {`"` + strings.Repeat("đ", 100_000) + `"`, !failed, "đđđ…\n\n("},
		"deep nesting":   {strings.Repeat(`{"a":[`, 60) + "1" + strings.Repeat(`]}`, 60), !failed, "no results"},
	} {
		o := run(t, after(schemas.ToolResult{ToolName: "t", Output: json.RawMessage(tt.output), IsError: tt.failed}))
		if !strings.Contains(o.text, tt.want) || len(o.text) > 3000 {
			t.Errorf("%s: %d bytes lack %q: %s", name, len(o.text), tt.want, o.text)
		}
		if o.finish != providers.FinishStop || o.usage == nil || o.usage.CompletionTokens != len(strings.Fields(o.text)) {
			t.Errorf("%s: finish %q, usage %+v", name, o.finish, o.usage)
		}
	}
}

// A summary consists of the question's first sentence and the answer's first two.
func TestAnswer_summary(t *testing.T) {
	const closing = "\n\n(No model is configured: this is quoted from tools. Set GEMINI_API_KEY, OPENAI_API_KEY or ANTHROPIC_API_KEY, or run Ollama, for real answers.)"
	const question = "How do I brush? I am new to it."
	exchange := []schemas.Message{schemas.Text(schemas.RoleUser, question), schemas.Text(schemas.RoleAssistant, "Brush twice a day."+closing)}
	beside := answerCase{question: question, found: "Brush twice a day. Use a soft brush. Come back in June." + closing}.request().Messages
	long := []schemas.Message{schemas.Text(schemas.RoleUser, strings.Repeat("a ", 900))}
	for want, messages := range map[string][]schemas.Message{
		"How do I brush? Brush twice a day.": exchange, "How do I brush? Brush twice a day. Use a soft brush.": beside, strings.Repeat("a ", 300) + "…": long,
	} {
		if text := run(t, providers.Request{Pass: providers.PassSummary, Messages: messages}).text; text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}

// All fixed texts for patients are on one page, for review.
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
