package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"molar/providers"
	"molar/providers/offline"
	"molar/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const idA = "1a955fff-ce01-422f-8bb3-02ab14e8ec47"

func newProvider(t testing.TB) *offline.Provider {
	t.Helper()
	p, err := offline.New(offline.Config{})
	if err != nil || p.Name() != offline.Name {
		t.Fatal(p, err)
	}
	return p
}

// outcome is the content of a stream.
type outcome struct {
	text   string
	calls  []schemas.ToolCall
	note   string
	finish providers.FinishReason
	usage  *schemas.Usage
	err    error
}

func run(t testing.TB, req providers.Request) outcome {
	t.Helper()
	var o outcome
	for c, err := range newProvider(t).Stream(t.Context(), req) {
		if err != nil {
			o.err = err
			break
		}
		o.text += c.Text
		o.note += c.Note
		if c.Call != nil {
			o.calls = append(o.calls, *c.Call)
		}
		if c.Usage != nil {
			o.usage = c.Usage
		}
		if c.Finish != "" {
			o.finish = c.Finish
		}
	}
	return o
}

func ask(text string, tools []schemas.ToolInfo) providers.Request {
	return providers.Request{Pass: providers.PassTool, Messages: []schemas.Message{schemas.Text(schemas.RoleUser, text)}, Tools: tools}
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
	forbidden, again := ask("Read the file /etc/hosts", tuningTools()), after(schemas.ToolResult{ToolName: "read_file", Output: output("127.0.0.1")})
	forbidden.ForbidCalls = true
	again.Messages[0], again.Tools = forbidden.Messages[0], tuningTools()
	for name, req := range map[string]providers.Request{"where none is allowed": forbidden, "behind the result of one": again} {
		if o := run(t, req); len(o.calls) != 0 {
			t.Errorf("called %v %s", o.calls, name)
		}
	}
}

// A tool that changes data is not called for a question that does not ask for it.
func TestStream_changesNothingUnasked(t *testing.T) {
	tools := []schemas.ToolInfo{tool("files", "delete_file", "Delete a file.", "path! string Path of the file")}
	for question, calls := range map[string]int{"What is in the file old.log?": 0, "Delete the file old.log": 1, "xoa file old.log": 1} {
		if o := run(t, ask(question, tools)); len(o.calls) != calls {
			t.Errorf("%q: calls %v, text %q", question, o.calls, o.text)
		}
	}
}

// If no offered tool fits, the provider searches the others, once; a result that code looked up
// for the question does not prevent tool calls.
func TestStream_looksForMoreTools(t *testing.T) {
	finder := schemas.ToolInfo{Name: schemas.FindTools, ToolName: schemas.FindTools}
	req := ask("What's the weather in Paris?", append(tuningTools()[:3], finder))
	called := func(want, arguments string) {
		t.Helper()
		if o := run(t, req); len(o.calls) != 1 || o.calls[0].Function != (schemas.FunctionCall{Name: want, Arguments: arguments}) {
			t.Errorf("called %v, want %s %s: %q", o.calls, want, arguments, o.text)
		}
	}
	called(schemas.FindTools, `{"words":"What's the weather in Paris?"}`)
	found := schemas.ToolResult{ToolName: schemas.FindTools, Output: output("weather__get_current_weather")}
	req.Messages = append(req.Messages,
		schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{{Kind: schemas.PartResult, Result: &found}}},
		schemas.Message{Role: schemas.RoleUser, Parts: []schemas.Part{{Kind: schemas.PartContext, Text: "a rule of the host"}}})
	if o := run(t, req); len(o.calls) != 0 || !strings.Contains(o.text, "Tools at hand") {
		t.Errorf("looked again: %v %q", o.calls, o.text)
	}
	req.Tools = append(tuningTools(), finder)
	looked := schemas.ToolResult{ToolName: "search", Output: output("Title: Paris\nContent: A city.")}
	req.Messages[0].Parts = append(req.Messages[0].Parts, schemas.Part{Kind: schemas.PartContext, Text: "fenced", Result: &looked})
	called("weather__get_current_weather", `{"city":"Paris"}`)
	req.Messages[0].Parts[0].Text = "How's the weather?"
	if o := run(t, req); len(o.calls) != 0 || !strings.Contains(o.text, "A city.") {
		t.Errorf("what was looked up is not quoted: %v %q", o.calls, o.text)
	}
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
