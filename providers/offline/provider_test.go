package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"molar/providers"
	"molar/providers/offline"
	"molar/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const idA = "1a955fff-ce01-422f-8bb3-02ab14e8ec47"

func callArgs(t *testing.T, c schemas.ToolCall) map[string]any {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal([]byte(c.Function.Arguments), &got); err != nil {
		t.Fatalf("arguments %q: %v", c.Function.Arguments, err)
	}
	return got
}

func TestStream_call(t *testing.T) {
	o := run(t, ask("Show the details of family "+idA, tuningTools()))
	if len(o.calls) != 1 || o.finish != providers.FinishToolCalls || o.text != "" {
		t.Fatalf("got %+v", o)
	}
	if _, err := uuid.Parse(o.calls[0].ID); err != nil {
		t.Errorf("id %q: %v", o.calls[0].ID, err)
	}
	if o.calls[0].Function.Name != "clan__get_family_details" {
		t.Errorf("called %q", o.calls[0].Function.Name)
	}
	for _, want := range []string{"threshold 1.00", "calls clan__get_family_details"} {
		if !strings.Contains(o.note, want) {
			t.Errorf("the note does not say %q: %s", want, o.note)
		}
	}
	if o.usage == nil || o.usage.PromptTokens != 6 || o.usage.TotalTokens != o.usage.PromptTokens+o.usage.CompletionTokens {
		t.Errorf("usage %+v", o.usage)
	}
}

func TestStream_asksForWhatIsMissing(t *testing.T) {
	tools := []schemas.ToolInfo{tool("clinic", "book_appointment", "Book an appointment.", "patient! string Full name of the patient", "kind! checkup|cleaning Kind of visit")}
	en := run(t, ask("I want to book an appointment", tools))
	if len(en.calls) != 0 || en.finish != providers.FinishStop {
		t.Fatalf("got %+v", en)
	}
	for _, want := range []string{`"patient"`, "Full name of the patient", `"kind"`, "checkup | cleaning", "What should it be?"} {
		if !strings.Contains(en.text, want) {
			t.Errorf("%q lacks %q", en.text, want)
		}
	}
	tools[0].Description = "Đặt lịch hẹn khám."
	req := ask("Tôi muốn đặt lịch hẹn", tools)
	req.Language = "vi"
	if vi := run(t, req); !strings.Contains(vi.text, "Bạn cho tôi biết nhé?") {
		t.Errorf("not in Vietnamese: %q", vi.text)
	}
}

func TestStream_requiredNeverForcesACall(t *testing.T) {
	req := ask("Tell me a joke", tuningTools())
	req.ToolChoice = providers.ToolRequired
	if o := run(t, req); len(o.calls) != 0 || o.text == "" {
		t.Errorf("got %+v", o)
	}
	req = ask("Read the file /etc/hosts", tuningTools())
	req.ForbidCalls = true
	if o := run(t, req); len(o.calls) != 0 {
		t.Errorf("called %v although no tool was allowed", o.calls)
	}
}

// TestStream_neverCallsBelowThreshold throws random words of both languages and random
// values at the tools.
func TestStream_neverCallsBelowThreshold(t *testing.T) {
	var pool []string
	for _, q := range slices.Concat(tuningQuestions(), heldOutQuestions()) {
		pool = append(pool, strings.Fields(q.text)...)
	}
	random := rand.New(rand.NewPCG(7, 11))
	tools := slices.Concat(tuningTools()[:20], heldOutTools())
	schema := map[string]schemas.ToolInfo{}
	for _, tl := range tools {
		schema[tl.Name] = tl
	}
	for range 150 {
		var parts []string
		for range 1 + random.IntN(9) {
			parts = append(parts, pool[random.IntN(len(pool))])
		}
		text := strings.Join(parts, " ")
		scores := map[string]float64{}
		for _, s := range offline.Rank(tools, text) {
			scores[s.Tool] = s.Score
		}
		for _, c := range run(t, ask(text, tools)).calls {
			if scores[c.Function.Name] < offline.Threshold {
				t.Errorf("%q called %s with score %.2f", text, c.Function.Name, scores[c.Function.Name])
			}
			if err := fits(schema[c.Function.Name].InputSchema, []byte(c.Function.Arguments)); err != nil {
				t.Errorf("%q called %s with %s: %v", text, c.Function.Name, c.Function.Arguments, err)
			}
		}
	}
}

// fits checks arguments against the types and required fields of a schema.
func fits(schema, arguments []byte) error {
	var s struct {
		Properties map[string]struct {
			Type string   `json:"type"`
			Enum []string `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	var got map[string]any
	if err := errors.Join(json.Unmarshal(schema, &s), schemas.Decode(arguments, &got)); err != nil {
		return err
	}
	for _, name := range s.Required {
		if _, ok := got[name]; !ok {
			return fmt.Errorf("%s is missing", name)
		}
	}
	for name, v := range got {
		p, ok := s.Properties[name]
		if !ok {
			return fmt.Errorf("%s is not in the schema", name)
		}
		text, isText := v.(string)
		number, isNumber := v.(float64)
		_, isList := v.([]any)
		_, isBool := v.(bool)
		ok = map[string]bool{
			"string": isText, "number": isNumber, "integer": isNumber && number == float64(int64(number)), "array": isList, "boolean": isBool,
		}[p.Type]
		if !ok || len(p.Enum) > 0 && !slices.Contains(p.Enum, text) {
			return fmt.Errorf("%s is %v", name, v)
		}
	}
	return nil
}

func TestStream_passesThatJudge(t *testing.T) {
	for _, req := range []providers.Request{
		{Pass: providers.PassGuardrail},
		{Pass: providers.PassLanguage},
		{Pass: providers.PassAnswer, Schema: json.RawMessage(`{"type":"object"}`)},
	} {
		o := run(t, req)
		if providers.KindOf(o.err) != providers.KindInvalid || !strings.Contains(o.err.Error(), "cannot judge") {
			t.Errorf("pass %q: got error %v", req.Pass, o.err)
		}
	}
}

func TestStream_contextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range newProvider(t).Stream(ctx, ask("hello", nil)) {
		if n++; n == 3 {
			cancel()
		}
		last = err
	}
	if _, ok := errors.AsType[*providers.Error](last); !ok || n != 4 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d chunks, then %v; want the error right after the cancel", n, last)
	}

	late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	for _, err := range newProvider(t).Stream(late, ask("hello", nil)) {
		if providers.KindOf(err) != providers.KindTimeout {
			t.Errorf("got %v, want a timeout", err)
		}
	}
}

func TestStream_breakingOffStops(t *testing.T) {
	for _, text := range []string{"hello", "Read the file /etc/hosts"} {
		for _, err := range newProvider(t).Stream(t.Context(), ask(text, tuningTools())) {
			if err != nil {
				t.Error(err)
			}
			break
		}
	}
}

func TestStream_maxTokens(t *testing.T) {
	req := ask("hello", nil)
	req.MaxTokens = 4
	if o := run(t, req); o.finish != providers.FinishLength || len(strings.Fields(o.text)) != 4 {
		t.Errorf("got %q, finish %q", o.text, o.finish)
	}
}

func TestStream_noToolNoResult(t *testing.T) {
	o := run(t, ask("Tell me a joke", tuningTools()))
	if !strings.Contains(o.text, "No model is configured") || strings.Count(o.text, "__") != 5 {
		t.Errorf("got %q", o.text)
	}
	req := ask("Kể chuyện cười đi", tuningTools())
	req.Language = "vi"
	if o := run(t, req); !strings.Contains(o.text, "Chưa cấu hình mô hình nào") || !strings.Contains(o.text, "OPENAI_API_KEY") {
		t.Errorf("got %q", o.text)
	}
}

func TestStream_summary(t *testing.T) {
	answer := "Brush twice a day. Use a soft brush. Come back in June.\n\n(No model is configured: this is quoted from tools. Set GEMINI_API_KEY or OPENAI_API_KEY, or run Ollama, for real answers.)"
	output, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	question := schemas.Part{Kind: schemas.PartText, Text: "How do I brush? I am new to it."}
	want := "How do I brush? Brush twice a day. Use a soft brush."
	for name, messages := range map[string][]schemas.Message{
		"an exchange": {{Role: schemas.RoleUser, Parts: []schemas.Part{question}}, schemas.Text(schemas.RoleAssistant, answer)},
		"an answer beside the question": {{Role: schemas.RoleUser, Parts: []schemas.Part{question, {
			Kind: schemas.PartContext, Text: "fenced", Result: &schemas.ToolResult{ToolName: "answer", Output: output},
		}}}},
	} {
		if o := run(t, providers.Request{Pass: providers.PassSummary, Messages: messages}); o.text != want {
			t.Errorf("%s: got %q, want %q", name, o.text, want)
		}
	}
	long := []schemas.Message{schemas.Text(schemas.RoleUser, strings.Repeat("ừ ", 900))}
	if o := run(t, providers.Request{Pass: providers.PassSummary, Messages: long}); len([]rune(o.text)) > 400 {
		t.Errorf("summary of %d runes", len([]rune(o.text)))
	}
}

func TestRank_isStable(t *testing.T) {
	tools := tuningTools()
	first := offline.Rank(tools, "Show the details of family "+idA)
	if len(first) != len(tools) || first[0].Tool != "clan__get_family_details" || first[0].Score < offline.Threshold {
		t.Fatalf("got %+v", first[:2])
	}
	for range 5 {
		if diff := cmp.Diff(first, offline.Rank(tools, "Show the details of family "+idA)); diff != "" {
			t.Fatal(diff)
		}
	}
	var same []schemas.ToolInfo
	for _, name := range []string{"c", "a", "b"} {
		info := tools[0]
		info.Name = name
		same = append(same, info)
	}
	if s := offline.Rank(same, "Read a file"); s[0].Tool+s[1].Tool+s[2].Tool != "cab" {
		t.Errorf("equal scores change the order: %+v", s)
	}
	if got := offline.Rank(nil, "anything"); len(got) != 0 {
		t.Errorf("got %v for no tools", got)
	}
}

func BenchmarkRank(b *testing.B) {
	tools := slices.Concat(tuningTools(), heldOutTools(), tuningTools())[:128]
	for b.Loop() {
		offline.Rank(tools, "Show the forecast of the next 5 days for Paris")
	}
}
