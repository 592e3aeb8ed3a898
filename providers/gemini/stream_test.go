package gemini_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"molar/providers"
	"molar/providers/gemini"
	"molar/schemas"
)

func TestStream_text(t *testing.T) {
	f := newFake(t, events(
		parts(`{"text":"let me think","thought":true}`),
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"Xin "}]}}],"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3}}`,
		parts(say("chào")),
		ending("STOP", say(".")),
	))
	a := ask(t.Context(), newProvider(t, gemini.Config{BaseURL: f.url + "/gateway/v1beta/"}), question("hi"))
	if a.err != nil || a.text != "Xin chào." || a.finish != providers.FinishStop || a.afterEnd {
		t.Fatalf("got %+v", a)
	}
	// Thoughts are not text, usage includes them, and the last usage counts.
	if a.thinking != "let me think" {
		t.Errorf("thinking = %q", a.thinking)
	}
	if diff := cmp.Diff(schemas.Usage{PromptTokens: 6, CompletionTokens: 9, TotalTokens: 15, ReasoningTokens: 7}, a.usage); diff != "" {
		t.Error(diff)
	}
	// A path prefix is kept, and the key is in the header only.
	sent := f.requests()[0]
	if want := "/gateway/v1beta/models/" + model + ":streamGenerateContent"; sent.Path != want || sent.Query != "alt=sse" {
		t.Errorf("asked %s?%s, want %s", sent.Path, sent.Query, want)
	}
	if sent.Header.Get("X-Goog-Api-Key") != testKey || strings.Contains(sent.Raw+sent.Path+sent.Query, testKey) {
		t.Error("the key is not in its header alone")
	}
	if sent.Header.Get("X-Server-Timeout") != "" {
		t.Error("a timeout for the whole stream was sent")
	}
}

// The ends of an answer, with the table of finish reasons.
func TestStream_finish(t *testing.T) {
	call := `{"functionCall":{"name":"w__get_weather","args":{"city":"Hà Nội"}}}`
	tests := []struct {
		name   string
		events []string
		text   string
		finish providers.FinishReason
		kind   providers.Kind
		says   string
	}{
		{"stop", []string{ending("STOP", say("a"))}, "a", providers.FinishStop, "", ""},
		{"a call says STOP too", []string{ending("STOP", call)}, "", providers.FinishToolCalls, "", ""},
		{"14 cut short", []string{parts(say("a")), ending("MAX_TOKENS", call)}, "a", providers.FinishLength, "", ""},
		{"13 safety after text", []string{parts(say("a")), ending("SAFETY")}, "a", providers.FinishContentFilter, "", ""},
		{"recitation", []string{ending("RECITATION")}, "", providers.FinishContentFilter, "", ""},
		{"image safety", []string{ending("IMAGE_SAFETY")}, "", providers.FinishContentFilter, "", ""},
		{
			"12 blocked prompt",
			[]string{`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":4,"totalTokenCount":4}}`},
			"", providers.FinishContentFilter, "", "",
		},
		{"16 unknown reason after text", []string{parts(say("a")), ending("SOMETHING_NEW")}, "a", providers.FinishStop, "", ""},
		{"16 unknown reason alone", []string{ending("SOMETHING_NEW")}, "", "", providers.KindProtocol, "SOMETHING_NEW"},
		{"other alone", []string{ending("OTHER")}, "", "", providers.KindProtocol, "OTHER"},
		{"empty stop", []string{ending("STOP", `{}`)}, "", "", providers.KindProtocol, "without an answer"},
		{"unspecified reason", []string{ending("FINISH_REASON_UNSPECIFIED", say("a"))}, "a", "", providers.KindIncomplete, "complete"},
		{"usage only", []string{`{"usageMetadata":{"promptTokenCount":4}}`}, "", "", providers.KindIncomplete, "empty"},
		{
			"20 continuation",
			[]string{`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"CONTINUATION"}],"continuationToken":"dG9r"}`},
			"a", "", providers.KindIncomplete, "complete",
		},
		{"an error that is a string", []string{parts(say("a")), `{"error":"boom"}`}, "a", "", providers.KindUnavailable, "boom"},
		{"text after the end is still text", []string{ending("STOP", say("a")), parts(say("b"))}, "ab", providers.FinishStop, "", ""},
		{"unknown part", []string{ending("STOP", `{"hologram":{"x":1}}`, say("a"))}, "a", providers.FinishStop, "", ""},
		{"null everywhere", []string{`{"candidates":null}`, `{"candidates":[{"content":null}]}`, ending("STOP", say("a"))}, "a", providers.FinishStop, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, events(tt.events...))
			req := question("hi")
			req.Tools = []schemas.ToolInfo{weather()}
			a := once(t.Context(), at(t, f), req)
			if a.text != tt.text || a.finish != tt.finish || providers.KindOf(a.err) != tt.kind || a.afterEnd {
				t.Errorf("text %q, finish %q, error %v; want %q, %q, kind %q", a.text, a.finish, a.err, tt.text, tt.finish, tt.kind)
			}
			if tt.says != "" && (a.err == nil || !strings.Contains(a.err.Error(), tt.says)) {
				t.Errorf("error %v does not say %q", a.err, tt.says)
			}
			if n := len(f.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// If the service could not parse a call, the request is repeated twice; then the error quotes the
// service.
func TestStream_unreadableCall(t *testing.T) {
	bad := `{"candidates":[{"content":{"parts":[]},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(x)"}],` +
		`"usageMetadata":{"promptTokenCount":5,"totalTokenCount":5}}`
	t.Run("once", func(t *testing.T) {
		f := newFake(t, events(bad), events(ending("STOP", say("ok"))))
		a := ask(t.Context(), at(t, f), question("hi"))
		if a.err != nil || a.text != "ok" || len(a.notes) != 1 || a.usage.TotalTokens != 20 {
			t.Errorf("got %+v", a)
		}
	})
	t.Run("again", func(t *testing.T) {
		f := newFake(t, events(bad))
		a := ask(t.Context(), at(t, f), question("hi"))
		if providers.KindOf(a.err) != providers.KindProtocol || !strings.Contains(a.err.Error(), "print(x)") || len(f.requests()) != 3 {
			t.Errorf("%d requests, error %v", len(f.requests()), a.err)
		}
		if a.usage.TotalTokens != 15 {
			t.Errorf("usage of a failed call = %+v", a.usage)
		}
	})
	t.Run("after text", func(t *testing.T) {
		f := newFake(t, events(parts(say("I will ")), bad), events(ending("STOP", say("ok"))))
		a := ask(t.Context(), at(t, f), question("hi"))
		if a.err != nil || a.text != "ok" || a.thinking != "I will " || len(f.requests()) != 2 {
			t.Errorf("%d requests, got %+v", len(f.requests()), a)
		}
	})
	t.Run("after a call", func(t *testing.T) {
		f := newFake(t, events(parts(`{"functionCall":{"name":"w__get_weather"}}`), bad))
		a := ask(t.Context(), at(t, f), question("hi"))
		if providers.KindOf(a.err) != providers.KindProtocol || len(f.requests()) != 1 {
			t.Errorf("%d requests, got %+v", len(f.requests()), a)
		}
	})
}

// A whole call to a function that was not declared is a call, like that of any unknown tool.
func TestStream_undeclaredCall(t *testing.T) {
	call := `{"functionCall":{"name":"list_files","args":{"path":"."}},"thoughtSignature":"c2ln"}`
	odd := strings.Replace(ending("UNEXPECTED_TOOL_CALL", call), `"finishReason"`, `"finishMessage":"undeclared function: list_files","finishReason"`, 1)
	req := question("hi")
	req.Tools = []schemas.ToolInfo{weather()}
	a := ask(t.Context(), at(t, newFake(t, events(odd))), req)
	if a.err != nil || a.finish != providers.FinishToolCalls || len(a.calls) != 1 || a.calls[0].Function.Name != "list_files" {
		t.Errorf("got %+v", a)
	}
	f := newFake(t, events(ending("UNEXPECTED_TOOL_CALL")), events(ending("STOP", say("ok"))))
	if a := ask(t.Context(), at(t, f), req); a.err != nil || a.text != "ok" {
		t.Errorf("without its call: %+v", a)
	}
}

// An empty answer is requested again, even after tool results; the service has been seen to
// answer properly the next time.
func TestStream_emptyStop(t *testing.T) {
	for name, odd := range map[string]string{
		"empty":             ending("STOP"),
		"thoughts alone":    ending("STOP", `{"text":"hm","thought":true}`),
		"blanks":            ending("STOP", say(" \n")),
		"other":             ending("OTHER"),
		"bad response":      ending("MALFORMED_RESPONSE"),
		"missing signature": ending("MISSING_THOUGHT_SIGNATURE"),
	} {
		f := newFake(t, events(ending("STOP", `{"functionCall":{"name":"w__get_weather"}}`)), events(odd), events(odd), events(ending("STOP", say("Sunny."))))
		p := at(t, f)
		req := question("hi")
		req.Tools = []schemas.ToolInfo{weather()}
		first := ask(t.Context(), p, req)
		req.Messages = append(req.Messages, first.message, results(first.calls, "done"))
		if a := ask(t.Context(), p, req); a.err != nil || a.text != "Sunny." || len(a.notes) != 2 {
			t.Errorf("%s: got %+v", name, a)
		}
		f.steps = []http.HandlerFunc{events(odd)}
		if a := ask(t.Context(), p, req); providers.KindOf(a.err) != providers.KindProtocol {
			t.Errorf("%s for ever: got %+v", name, a)
		}
	}
}

// Calls have our ids, whole arguments with their digits and order, and the offered name.
func TestStream_calls(t *testing.T) {
	tests := []struct{ name, written, wantName, wantArgs string }{
		{"no args", `{"name":"w__get_weather"}`, "w__get_weather", `{}`},
		{"null args", `{"name":"w__get_weather","args":null}`, "w__get_weather", `{}`},
		{"digits and order", `{"name":"w__get_weather","args":{"z": 9007199254740993, "a": 1.0}}`, "w__get_weather", `{"z":9007199254740993,"a":1.0}`},
		{"namespace with a dot", `{"name":"default_api.w__get_weather"}`, "w__get_weather", `{}`},
		{"namespace with a colon", `{"name":"default_api:w__get_weather"}`, "w__get_weather", `{}`},
		{"unknown name", `{"name":"default_api:nope"}`, "default_api:nope", `{}`},
		{"wrapped", `{"name":"w__any","args":{"input":{"a":1}}}`, "w__any", `{"a":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, events(ending("STOP", `{"functionCall":`+tt.written+`}`)))
			req := question("hi")
			wrapped := schemas.ToolInfo{Name: "w__any", InputSchema: []byte(`{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"integer"}}}]}`)}
			req.Tools = []schemas.ToolInfo{weather(), wrapped}
			a := ask(t.Context(), at(t, f), req)
			if a.err != nil || len(a.calls) != 1 {
				t.Fatalf("got %+v", a)
			}
			got := a.calls[0]
			if got.Function.Name != tt.wantName || got.Function.Arguments != tt.wantArgs || uuid.Validate(got.ID) != nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Sources arrive from chunks with and without text, once each.
func TestSearch(t *testing.T) {
	ground := func(list string) string {
		return `{"candidates":[{"groundingMetadata":{"webSearchQueries":["q"],"groundingChunks":[` + list + `],` +
			`"groundingSupports":[{"segment":{"endIndex":9,"text":"răng sâu"},"groundingChunkIndices":[0]}]}}]}`
	}
	f := newFake(t, events(
		parts(say("Răng ")),
		ground(`{"web":{"uri":"https://a.example/1","title":"A"}},{"web":{"uri":"javascript:x","title":"X"}},{"retrievedContext":{"uri":"x"}}`),
		ending("STOP", say("sâu.")),
		ground(`{"web":{"uri":"https://a.example/1","title":"A"}},{"web":{"uri":"https://b.example/2","title":"B"}}`),
	))
	p := at(t, f)
	found, err := p.Search(t.Context(), model, "răng sâu?")
	want := []gemini.Page{
		{Source: schemas.Source{Title: "A", URL: "https://a.example/1"}, Said: "răng sâu"},
		{Source: schemas.Source{Title: "B", URL: "https://b.example/2"}},
	}
	if diff := cmp.Diff(want, found.Pages); diff != "" || found.Text != "Răng sâu." || err != nil {
		t.Errorf("text %q, error %v, sources %s", found.Text, err, diff)
	}
	if sent := f.requests()[0]; len(sent.Tools) != 1 || sent.Tools[0].GoogleSearch == nil || !strings.Contains(sent.Raw, `"googleSearch":{}`) {
		t.Errorf("sent %s", sent.Raw)
	}
	if a := ask(t.Context(), p, question("q")); len(a.sources) != 2 || a.err != nil {
		t.Errorf("a grounded stream gave %+v", a)
	}
	for name, step := range map[string]string{"blocked": `{"promptFeedback":{"blockReason":"SAFETY"}}`, "error": fault(400, "INVALID_ARGUMENT", "x", "")} {
		f := newFake(t, events(step))
		if _, err := at(t, f).Search(t.Context(), model, "q"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := p.Search(t.Context(), model, " "); providers.KindOf(err) != providers.KindInvalid {
		t.Errorf("empty query: %v", err)
	}
}
