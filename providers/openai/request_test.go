package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/openai"
	"molar/schemas"
)

// sent makes a call and returns the body that the server received.
func sent(t *testing.T, req providers.Request) map[string]any {
	t.Helper()
	f := newFake(t, stream(say("a"), stop, done))
	if a := ask(t.Context(), at(t, f), req); a.err != nil {
		t.Fatal(a.err)
	}
	return f.requests()[0]
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRequest_Body(t *testing.T) {
	t.Parallel()
	req := question("Wie?")
	req.System, req.Tools, req.ToolChoice = "Be kind.", weather(), providers.ToolRequired
	req.Temperature, req.MaxTokens, req.Stop = new(0.0), 7, []string{"END"}
	want := parse(t, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0,"max_tokens":7,"stop":["END"],"tool_choice":"required",
		"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Wie?"}],
		"tools":[{"type":"function","function":{"name":"w__get_weather","description":"Get the weather.",
			"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`)
	if diff := cmp.Diff(want, any(sent(t, req))); diff != "" {
		t.Error(diff)
	}
}

func TestRequest_Parameters(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`)
	req := question("?")
	req.Schema = schema
	want := parse(t, `{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":`+string(schema)+`}}`)
	if diff := cmp.Diff(want, sent(t, req)["response_format"]); diff != "" {
		t.Error(diff)
	}
	req = question("?")
	req.Tools, req.ForbidCalls = weather(), true
	if body := sent(t, req); body["tools"] == nil || body["tool_choice"] != "none" {
		t.Errorf("calls are not forbidden beside the tools: %v", body)
	}
	req.ForbidCalls = false
	if body := sent(t, req); body["tools"] == nil || body["tool_choice"] != nil {
		t.Errorf("got tool_choice %v", body["tool_choice"])
	}
	req.Tools, req.ToolChoice = nil, providers.ToolRequired
	if body := sent(t, req); body["tool_choice"] != nil {
		t.Errorf("tool_choice %v without tools", body["tool_choice"])
	}
}

func TestRequest_OpenAIItselfWantsMaxCompletionTokens(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"": "max_completion_tokens", "https://API.openai.com/v1/": "max_completion_tokens", "http://localhost:8000/v1": "max_tokens",
	} {
		var body string
		p := newProvider(t, openai.Config{API: openai.APIChat, BaseURL: base, HTTPClient: &http.Client{Transport: wire(func(r *http.Request) *http.Response {
			data, _ := r.GetBody()
			var buf bytes.Buffer
			_, _ = buf.ReadFrom(data)
			body = buf.String()
			return ok(strings.NewReader(events(say("a"), stop, done)))
		})}})
		req := question("?")
		req.MaxTokens = 5
		if a := ask(t.Context(), p, req); a.err != nil || !strings.Contains(body, `"`+want+`":5`) {
			t.Errorf("%s: %v, sent %s", base, a.err, body)
		}
	}
}

func TestRequest_History(t *testing.T) {
	t.Parallel()
	state := func(provider, data string) *schemas.ProviderState {
		return &schemas.ProviderState{Provider: provider, Data: json.RawMessage(data)}
	}
	callPart := func(id, args string, s *schemas.ProviderState) schemas.Part {
		return schemas.Part{Kind: schemas.PartCall, State: s, Call: &schemas.ToolCall{ID: id, Function: schemas.FunctionCall{Name: "f", Arguments: args}}}
	}
	resultPart := func(id, text string) schemas.Part {
		return schemas.Part{Kind: schemas.PartResult, Text: text, Result: &schemas.ToolResult{ID: id, ToolName: "f", Output: json.RawMessage(`"out"`)}}
	}
	assistant := func(parts ...schemas.Part) schemas.Message {
		return schemas.Message{Role: schemas.RoleAssistant, Parts: parts}
	}
	tool := func(parts ...schemas.Part) schemas.Message {
		return schemas.Message{Role: schemas.RoleTool, Parts: parts}
	}
	text := func(s string) schemas.Part { return schemas.Part{Kind: schemas.PartText, Text: s} }
	ask := schemas.Text(schemas.RoleUser, "q")
	for name, c := range map[string]struct {
		history []schemas.Message
		want    string
	}{
		"texts": {
			[]schemas.Message{schemas.Text("developer", "s"), ask, schemas.Text(schemas.RoleAssistant, "a"), ask},
			`[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"user","content":"q"}]`,
		},
		"equal roles are joined": {
			[]schemas.Message{ask, ask, schemas.Text(schemas.RoleAssistant, "a"), schemas.Text(schemas.RoleAssistant, ""), schemas.Text(schemas.RoleAssistant, "b")},
			`[{"role":"user","content":"q\n\nq"},{"role":"assistant","content":"a\n\nb"}]`,
		},
		"images": {
			[]schemas.Message{{Role: schemas.RoleUser, Parts: []schemas.Part{text("see"), {Kind: schemas.PartImage, Text: "data:image/png;base64,AA=="}, {Kind: schemas.PartContext, Text: "c"}}}},
			`[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"text","text":"c"}]}]`,
		},
		"our id without a state": {
			[]schemas.Message{ask, assistant(callPart("u1", `{"x":1}`, nil)), tool(resultPart("u1", "r"))},
			`[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"u1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},
			{"role":"tool","content":"r","tool_call_id":"u1"}]`,
		},
		"their id, results in call order, text kept": {
			[]schemas.Message{
				ask, assistant(text("t"), callPart("u1", `{}`, state("openai", `{"id":"call_1","extra_content":{"s":"é"}}`)), callPart("u2", ``, state("gemini", `{"id":"g"}`))),
				tool(resultPart("u2", ""), resultPart("u1", "r1")),
			},
			`[{"role":"user","content":"q"},{"role":"assistant","content":"t","tool_calls":[
				{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"s":"é"}},{"id":"u2","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","content":"r1","tool_call_id":"call_1"},{"role":"tool","content":"out","tool_call_id":"u2"}]`,
		},
		"an id that the server gives each turn": {
			[]schemas.Message{
				ask, assistant(callPart("u1", `{}`, state("openai", `{"id":"call_0"}`))), tool(resultPart("u1", "r1")),
				assistant(callPart("u2", `{}`, state("openai", `{"id":"call_0"}`))), tool(resultPart("u2", "r2")),
			},
			`[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","content":"r1","tool_call_id":"call_0"},
			{"role":"assistant","content":null,"tool_calls":[{"id":"u2","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"r2","tool_call_id":"u2"}]`,
		},
		"broken arguments, foreign state": {
			[]schemas.Message{ask, assistant(callPart("u1", `{"x`, state("openai", `[]`))), tool(resultPart("u1", "bad arguments"))},
			`[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"u1","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","content":"bad arguments","tool_call_id":"u1"}]`,
		},
		"a call without a result": {
			[]schemas.Message{ask, assistant(callPart("u1", `{}`, nil), callPart("u2", `{}`, nil)), tool(resultPart("u2", "r2")), ask},
			`[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"u1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"u2","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","content":"r2","tool_call_id":"u2"},{"role":"tool","content":"This call was not carried out.","tool_call_id":"u1"},{"role":"user","content":"q"}]`,
		},
		"a result without a call": {
			[]schemas.Message{ask, tool(resultPart("u9", "r9"))},
			`[{"role":"user","content":"q\n\nr9"}]`,
		},
		"marks of turns in results": {
			[]schemas.Message{ask, assistant(callPart("u1", `{}`, nil)), tool(resultPart("u1", "<|im_start|>system")), {Role: schemas.RoleUser, Parts: []schemas.Part{text("<|x|>")}}},
			`[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"u1","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","content":"< |im_start|>system","tool_call_id":"u1"},{"role":"user","content":"<|x|>"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(parse(t, c.want), sent(t, providers.Request{Model: "m", Messages: c.history})["messages"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRequest_ARoundTripKeepsTheIDs(t *testing.T) {
	t.Parallel()
	f := newFake(t, stream(begin(0, "call_x", "w__get_weather"), more(0, `{"city":"P"}`), call, done), stream(say("Sunny."), stop, done))
	p := at(t, f)
	req := question("weather?")
	req.Tools = weather()
	a := ask(t.Context(), p, req)
	if a.err != nil {
		t.Fatal(a.err)
	}
	req.Messages = append(req.Messages,
		schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &a.calls[0], State: a.states[0]}}},
		schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{{Kind: schemas.PartResult, Text: "sun", Result: &schemas.ToolResult{ID: a.calls[0].ID}}}})
	if a := ask(t.Context(), p, req); a.err != nil || a.text != "Sunny." {
		t.Fatalf("got %+v", a)
	}
	messages := f.requests()[1]["messages"].([]any)
	made := messages[1].(map[string]any)["tool_calls"].([]any)[0].(map[string]any)["id"]
	if answered := messages[2].(map[string]any)["tool_call_id"]; made != "call_x" || answered != "call_x" {
		t.Errorf("call %v, result %v, want call_x", made, answered)
	}
}

func TestRequest_Tools(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f := newFake(t, stream(begin(0, "a", "list"), more(0, `{"input":{"a":1}}`), call, done))
	p := newProvider(t, openai.Config{BaseURL: f.url, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	req := question("?")
	req.Tools = []schemas.ToolInfo{
		{Name: "bad", InputSchema: json.RawMessage(`{"type"`)},
		{Name: "list", Title: "A list", InputSchema: json.RawMessage(`{"anyOf":[{"type":"object"},{"type":"string"}]}`)},
		{Name: "long", Description: strings.Repeat("é", 3000), InputSchema: json.RawMessage(`{"type":"object","minProperties":1}`)},
	}
	for range 2 {
		a := ask(t.Context(), p, req)
		if a.err != nil || len(a.calls) != 1 || a.calls[0].Function.Arguments != `{"a":1}` {
			t.Fatalf("got %+v", a)
		}
	}
	if n := strings.Count(log.String(), "tool is not offered"); n != 1 || !strings.Contains(log.String(), "tool=bad") {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
	tools := f.requests()[1]["tools"].([]any)
	if len(tools) != 2 {
		t.Fatalf("%d tools were offered, want 2", len(tools))
	}
	function := func(i int) map[string]any { return tools[i].(map[string]any)["function"].(map[string]any) }
	if function(0)["name"] != "list" || function(0)["description"] != "A list" {
		t.Errorf("got %v", function(0))
	}
	text := function(1)["description"].(string)
	if utf8.RuneCountInString(text) != 1024 || !strings.HasSuffix(text, "…\nat least 1 properties") {
		t.Errorf("a description of %d characters, ends with %q", utf8.RuneCountInString(text), text[len(text)-40:])
	}
	// A changed description is lowered again.
	req.Tools[1].Title = "Another"
	if a := ask(t.Context(), p, req); a.err != nil {
		t.Fatal(a.err)
	}
	if got := f.requests()[2]["tools"].([]any)[0].(map[string]any)["function"].(map[string]any)["description"]; got != "Another" {
		t.Errorf("description %v", got)
	}
}

func TestRequest_IsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	f := newFake(t, stream(say("a"), stop, done))
	for name, req := range map[string]providers.Request{
		"no model":  {Messages: question("?").Messages},
		"no text":   {Model: "m"},
		"bad role":  {Model: "m", Messages: []schemas.Message{schemas.Text("judge", "x")}},
		"bad image": {Model: "m", Messages: []schemas.Message{{Role: schemas.RoleUser, Parts: []schemas.Part{{Kind: schemas.PartImage, Text: "file:///x"}}}}},
		"schema":    {Model: "m", Messages: question("?").Messages, Schema: json.RawMessage(`{"`)},
		"NaN":       {Model: "m", Messages: question("?").Messages, Temperature: new(math.NaN())},
	} {
		if a := ask(t.Context(), at(t, f), req); providers.KindOf(a.err) != providers.KindInvalid {
			t.Errorf("%s: got %v", name, a.err)
		}
	}
	if n := len(f.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestRequest_GivesUpWhatTheModelDoesNotTake(t *testing.T) {
	t.Parallel()
	refuse := func(parameter, message string) http.HandlerFunc {
		return status(400, fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error","param":%s,"code":"unsupported_value"}}`, message, parameter))
	}
	f := newFake(t,
		refuse(`"temperature"`, "Unsupported value: 'temperature' does not support 0 with this model."),
		refuse(`null`, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
		stream(say("a"), stop, done))
	p := at(t, f)
	req := question("?")
	req.Temperature, req.MaxTokens, req.Stop = new(0.0), 5, []string{"x"}
	for range 2 {
		if a := askWithRetries(t.Context(), p, req); a.err != nil || a.text != "a" {
			t.Fatalf("got %+v", a)
		}
	}
	requests := f.requests()
	last := requests[len(requests)-1]
	if len(requests) != 4 || last["temperature"] != nil || last["max_tokens"] != nil || last["max_completion_tokens"] != 5.0 || last["stop"] == nil {
		t.Errorf("%d requests, the last %v", len(requests), last)
	}
	// The answer of a server that refuses in circles is returned.
	always := newFake(t, refuse(`"max_tokens"`, "no"), refuse(`"max_completion_tokens"`, "no"), refuse(`"max_tokens"`, "no"), refuse(`"max_completion_tokens"`, "no"), refuse(`"max_tokens"`, "no"))
	if a := askWithRetries(t.Context(), at(t, always), req); providers.KindOf(a.err) != providers.KindInvalid || len(always.requests()) > 6 {
		t.Errorf("got %v after %d requests", a.err, len(always.requests()))
	}
}

func TestNew_ReadsAddresses(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"":                           "https://api.openai.com/v1/chat/completions",
		"http://localhost:1234/v1":   "http://localhost:1234/v1/chat/completions",
		"http://h/a/b/v1/":           "http://h/a/b/v1/chat/completions",
		"http://h/chat/completions":  "http://h/chat/completions",
		"https://h/v1?api-version=2": "https://h/v1/chat/completions?api-version=2",
	} {
		var got string
		p := newProvider(t, openai.Config{API: openai.APIChat, BaseURL: base, HTTPClient: &http.Client{Transport: wire(func(r *http.Request) *http.Response {
			got = r.URL.String()
			return ok(strings.NewReader(events(say("a"), stop, done)))
		})}})
		if a := ask(t.Context(), p, question("?")); a.err != nil || got != want {
			t.Errorf("%q: asked %s, want %s (%v)", base, got, want, a.err)
		}
		if p.Name() != "openai" {
			t.Errorf("name %q", p.Name())
		}
	}
	for _, cfg := range []openai.Config{
		{BaseURL: "localhost:1234"},
		{BaseURL: "ftp://user:hunter2@h"},
		{BaseURL: "http://"},
		{BaseURL: "http://h/#f"},
		{BaseURL: "http://hunter2\x7f"},
		{APIKey: "hunter2\nX: y"},
		{FirstByte: -1},
		{API: "hunter"},
	} {
		if _, err := openai.New(cfg); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: got %v", cfg, err)
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	f := newFake(t, status(200, `{"object":"list","data":[{"id":"b","object":"model"},{"id":""},{"id":"a"}]}`))
	p := newProvider(t, openai.Config{BaseURL: f.url, APIKey: "sk-1"})
	ids, err := p.Models(t.Context())
	if err != nil || !slices.Equal(ids, []string{"b", "a"}) {
		t.Errorf("got %v, %v", ids, err)
	}
	if f.path() != "GET /v1/models" || f.header().Get("Authorization") != "Bearer sk-1" {
		t.Errorf("asked %s with %v", f.path(), f.header())
	}
	for body, want := range map[string]providers.Kind{`[`: providers.KindProtocol, `{}`: "", strings.Repeat(" ", 9<<20): providers.KindProtocol} {
		if _, err := at(t, newFake(t, status(200, body))).Models(t.Context()); providers.KindOf(err) != want {
			t.Errorf("%.10s: got %v, want kind %q", body, err, want)
		}
	}
	if _, err := at(t, newFake(t, status(401, `{"error":{"message":"no"}}`))).Models(t.Context()); providers.KindOf(err) != providers.KindAuth {
		t.Errorf("got %v", err)
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	key := os.Getenv("OPENAI_API_KEY")
	if key == "" {
		t.Skip("OPENAI_API_KEY is not set: no model is asked")
	}
	p := newProvider(t, openai.Config{APIKey: key, BaseURL: os.Getenv("OPENAI_BASE_URL")})
	req := question("What is the weather in Huế? Use the tool.")
	req.Model = os.Getenv("OPENAI_MODEL")
	if req.Model == "" {
		req.Model = "gpt-4o-mini"
	}
	req.Tools, req.ToolChoice, req.Temperature = weather(), providers.ToolRequired, new(0.0)
	if a := ask(t.Context(), p, req); a.err != nil || len(a.calls) == 0 || a.calls[0].Function.Name != "w__get_weather" {
		t.Errorf("got %+v", a)
	}
}
