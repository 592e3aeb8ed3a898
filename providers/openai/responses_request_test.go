package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/openai"
	"molar/schemas"
)

// hi is an answer over Responses.
func hi() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sends(strings.NewReader(speaks(0, "", "Hi.")+completed()))(w, r)
	}
}

// sentBody returns the body of a request over Responses, as JSON with its keys in order.
func sentBody(t *testing.T, req providers.Request) string {
	t.Helper()
	f := newFake(t, hi())
	if a := ask(t.Context(), overResponses(t, f), req); a.err != nil {
		t.Fatal(a.err)
	}
	if f.path() != "POST /v1/responses" {
		t.Errorf("asked %s", f.path())
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f.requests()[0]); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func TestResponses_Requests(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"description":"Get the weather.","name":"w__get_weather","parameters":{"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"},"strict":false,"type":"function"}]`
	const asked = `"input":[{"content":"?","role":"user","type":"message"}]`
	const rest = `"include":["reasoning.encrypted_content"],` + asked
	image := schemas.Part{Kind: schemas.PartImage, Text: "data:image/png;base64,QUJD"}
	for name, c := range map[string]struct {
		change func(*providers.Request)
		want   string
	}{
		"plain": {func(*providers.Request) {}, `{` + rest + `,"model":"m","reasoning":{"summary":"auto"},"store":false,"stream":true}`},
		"settings": {func(r *providers.Request) {
			r.System, r.Temperature, r.TopP, r.MaxTokens, r.Thinking = "Be brief.", new(0.5), new(0.25), 7, schemas.ThinkingHigh
		}, `{"include":["reasoning.encrypted_content"],` + asked + `,"instructions":"Be brief.","max_output_tokens":7,"model":"m","reasoning":{"effort":"high","summary":"auto"},"store":false,"stream":true,"temperature":0.5,"top_p":0.25}`},
		"without thoughts": {func(r *providers.Request) { r.Thinking = schemas.ThinkingOff }, `{` + rest + `,"model":"m","reasoning":{"effort":"none"},"store":false,"stream":true}`},
		"the small model":  {func(r *providers.Request) { r.Pass = providers.PassGuardrail }, `{` + asked + `,"model":"m","store":false,"stream":true}`},
		"tools":            {func(r *providers.Request) { r.Tools = weather() }, `{` + rest + `,"model":"m","reasoning":{"summary":"auto"},"store":false,"stream":true,` + tools + `}`},
		"a call is required": {
			func(r *providers.Request) { r.Tools, r.ToolChoice = weather(), providers.ToolRequired },
			`{` + rest + `,"model":"m","reasoning":{"summary":"auto"},"store":false,"stream":true,"tool_choice":"required",` + tools + `}`,
		},
		"no call is allowed": {
			func(r *providers.Request) { r.Tools, r.ForbidCalls = weather(), true },
			`{` + rest + `,"model":"m","reasoning":{"summary":"auto"},"store":false,"stream":true,"tool_choice":"none",` + tools + `}`,
		},
		"a schema": {
			func(r *providers.Request) {
				r.Schema = json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`)
			},
			`{` + rest + `,"model":"m","reasoning":{"summary":"auto"},"store":false,"stream":true,"text":{"format":{"name":"answer","schema":{"additionalProperties":false,"properties":{"ok":{"type":"boolean"}},"required":["ok"],"type":"object"},"strict":true,"type":"json_schema"}}}`,
		},
		"files": {func(r *providers.Request) {
			r.Messages[0].Parts = append(r.Messages[0].Parts, image, schemas.Part{Kind: schemas.PartFile, Name: "a.pdf", Text: "data:application/pdf;base64,QUJD"})
		}, `{"include":["reasoning.encrypted_content"],"input":[{"content":[{"text":"?","type":"input_text"},{"image_url":"data:image/png;base64,QUJD","type":"input_image"},{"file_data":"data:application/pdf;base64,QUJD","filename":"a.pdf","type":"input_file"}],"role":"user","type":"message"}],"model":"m","reasoning":{"summary":"auto"},"store":false,"stream":true}`},
	} {
		req := question("?")
		c.change(&req)
		if diff := cmp.Diff(c.want, sentBody(t, req)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A result's files are beside it; a model that does not take them there gets them in a message of the
// person, or not at all.
func TestResponses_FilesOfResults(t *testing.T) {
	t.Parallel()
	image := schemas.Part{Kind: schemas.PartImage, Text: "data:image/png;base64,QUJD"}
	req := question("?")
	req.Messages = append(req.Messages,
		schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &schemas.ToolCall{ID: "k1", Function: schemas.FunctionCall{Name: "w__look", Arguments: "{}"}}}}},
		schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{{Kind: schemas.PartResult, Result: &schemas.ToolResult{ID: "k1", ToolName: "look", Output: json.RawMessage(`"a tooth"`), Media: []schemas.Part{image}}}}},
	)
	refuse := status(400, `{"error":{"message":"This model does not support image inputs.","type":"invalid_request_error","param":"input","code":null}}`)
	f := newFake(t, refuse, refuse, hi())
	if a := askWithRetries(t.Context(), overResponses(t, f), req); a.text != "Hi." {
		t.Fatalf("%+v", a)
	}
	call := `{"arguments":"{}","call_id":"k1","name":"w__look","type":"function_call"}`
	var got []string
	for _, body := range f.requests() {
		got = append(got, strings.Join(input(t, body)[1:], "\n"))
	}
	want := []string{
		call + "\n" + `{"call_id":"k1","output":[{"text":"a tooth","type":"input_text"},{"image_url":"data:image/png;base64,QUJD","type":"input_image"}],"type":"function_call_output"}`,
		call + "\n" + `{"call_id":"k1","output":"a tooth","type":"function_call_output"}` + "\n" +
			`{"content":[{"text":"Files of the result of look:","type":"input_text"},{"image_url":"data:image/png;base64,QUJD","type":"input_image"}],"role":"user","type":"message"}`,
		call + "\n" + `{"call_id":"k1","output":"a tooth\n[Files of this result cannot be shown to you.]","type":"function_call_output"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The wire has no fields for stop sequences and a seed, which the trace says.
func TestResponses_NotesWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	f := newFake(t, hi())
	req := question("?")
	req.Stop, req.Seed = []string{"END"}, new(int64(7))
	a := ask(t.Context(), overResponses(t, f), req)
	if sent := f.requests()[0]; len(a.notes) != 2 || sent["stop"] != nil || sent["seed"] != nil {
		t.Errorf("notes %q, sent %v", a.notes, sent)
	}
}

// What a model rejects is left out or changed from then on, in one retry for each.
func TestResponses_LearnsParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message, param string
		change         func(*providers.Request)
		gone           func(body map[string]any) bool
	}{
		"encrypted reasoning": {"Encrypted content is not supported with this model.", "include", nil, func(b map[string]any) bool { return b["include"] == nil && b["reasoning"] == nil }},
		"a summary":           {"Unsupported parameter: 'reasoning.summary' is not supported with this model.", "reasoning.summary", nil, func(b map[string]any) bool { return b["reasoning"] == nil && b["include"] != nil }},
		"a summary for the unverified": {
			"Your organization must be verified to generate reasoning summaries.", "", nil,
			func(b map[string]any) bool { return b["reasoning"] == nil && b["include"] != nil },
		},
		"a stream for the unverified": {"Your organization must be verified to stream this model.", "stream", nil, func(b map[string]any) bool { return b["stream"] == false }},
		"an effort": {
			"Unsupported parameter: 'reasoning.effort' is not supported with this model.", "reasoning.effort",
			func(r *providers.Request) { r.Thinking = schemas.ThinkingLow }, func(b map[string]any) bool { return b["reasoning"].(map[string]any)["effort"] == nil },
		},
		"the effort none": {
			"Unsupported value: 'none' is not supported with the 'm' model. Supported values are: 'minimal', 'low', 'medium', and 'high'.", "reasoning.effort",
			func(r *providers.Request) { r.Thinking = schemas.ThinkingOff }, func(b map[string]any) bool { return b["reasoning"].(map[string]any)["effort"] == "minimal" },
		},
		"a temperature": {
			"Unsupported parameter: 'temperature' is not supported with this model.", "temperature",
			func(r *providers.Request) { r.Temperature = new(0.2) }, func(b map[string]any) bool { return b["temperature"] == nil },
		},
		"top_p": {"Unsupported parameter: 'top_p' is not supported with this model.", "top_p", func(r *providers.Request) { r.TopP = new(0.2) }, func(b map[string]any) bool { return b["top_p"] == nil }},
		"a format": {
			"Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.", "text.format",
			func(r *providers.Request) { r.Schema = json.RawMessage(`{"type":"object"}`) }, func(b map[string]any) bool { return b["text"] == nil },
		},
		"a tool choice": {
			"tool_choice is not supported", "", func(r *providers.Request) { r.Tools, r.ForbidCalls = weather(), true },
			func(b map[string]any) bool { return b["tool_choice"] == nil && b["tools"] == nil },
		},
	} {
		param, _ := json.Marshal(c.param)
		if c.param == "" {
			param = []byte("null")
		}
		f := newFake(t, status(400, `{"error":{"message":"`+c.message+`","type":"invalid_request_error","param":`+string(param)+`,"code":"unsupported_parameter"}}`), hi())
		p := overResponses(t, f)
		req := question("?")
		if c.change != nil {
			c.change(&req)
		}
		for range 2 {
			if a := askWithRetries(t.Context(), p, req); a.text != "Hi." {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if sent := f.requests(); len(sent) != 3 || c.gone(sent[0]) || !c.gone(sent[1]) || !c.gone(sent[2]) {
			t.Errorf("%s: sent %v", name, sent)
		}
	}
}

// OpenAI itself is asked over Responses and every other server over Chat Completions. What a refusal
// teaches of a model is kept: the wire changes once.
func TestAPI(t *testing.T) {
	t.Parallel()
	// answering answers on the paths that it has; other paths are refused with a body.
	answering := func(has string, code int, body string) *fake {
		f := newFake(t)
		f.steps = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			switch {
			case !strings.HasSuffix(r.URL.Path, has):
				status(code, body)(w, r)
			case has == "/responses":
				hi()(w, r)
			default:
				stream(say("Hi."), stop, done)(w, r)
			}
		}}
		return f
	}
	fault := func(message, code string) string {
		return `{"error":{"message":"` + message + `","type":"invalid_request_error","param":"model","code":"` + code + `"}}`
	}
	const chat, responses = "POST /v1/chat/completions", "POST /v1/responses"
	for name, c := range map[string]struct {
		api    openai.API
		server *fake
		paths  []string
		kind   providers.Kind
	}{
		"another server":                   {"", answering("/chat/completions", 404, ""), []string{chat, chat}, ""},
		"a model that needs Responses":     {"", answering("/responses", 404, fault("This model is only supported in v1/responses and not in v1/chat/completions.", "")), []string{chat, responses, responses}, ""},
		"a model that is no chat model":    {"auto", answering("/responses", 404, fault("This is not a chat model and thus not supported in the v1/chat/completions endpoint.", "")), []string{chat, responses, responses}, ""},
		"chat is configured":               {"chat", answering("/responses", 400, fault("Use the /v1/responses endpoint.", "")), []string{chat, chat}, providers.KindInvalid},
		"Responses is configured":          {"responses", answering("/chat/completions", 404, `{"detail":"Not Found"}`), []string{responses, responses}, providers.KindUnavailable},
		"a model that does not exist":      {"", answering("/responses", 404, fault("The model does not exist.", "model_not_found")), []string{chat, "GET /v1/models", chat, "GET /v1/models"}, providers.KindModelNotFound},
		"a server that has neither for it": {"", answering("/nowhere", 404, fault("This model is not supported in the Responses API nor in v1/chat/completions: not a chat model.", "")), nil, providers.KindModelNotFound},
	} {
		p := newProvider(t, openai.Config{API: c.api, BaseURL: c.server.url})
		for range 2 {
			if a := askWithRetries(t.Context(), p, question("?")); providers.KindOf(a.err) != c.kind || a.err == nil && a.text != "Hi." {
				t.Errorf("%s: %+v, %v", name, a, a.err)
			}
		}
		if diff := cmp.Diff(c.paths, c.server.paths); diff != "" && c.paths != nil {
			t.Errorf("%s:\n%s", name, diff)
		}
		if len(c.server.paths) > 8 {
			t.Errorf("%s: %d requests", name, len(c.server.paths))
		}
	}
}

// A gateway to OpenAI's models that has no Responses keeps answering: tools come without thoughts.
func TestAPI_BackFromResponses(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.steps = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		sent := f.requests()[len(f.requests())-1]
		switch {
		case strings.HasSuffix(r.URL.Path, "/responses"):
			status(404, `{"detail":"Not Found"}`)(w, r)
		case sent["tools"] != nil && sent["reasoning_effort"] != "none":
			status(400, `{"error":{"message":"Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.","param":"reasoning_effort"}}`)(w, r)
		default:
			stream(say("Hi."), stop, done)(w, r)
		}
	}}
	p := at(t, f)
	req := question("?")
	req.Tools = weather()
	for range 2 {
		if a := askWithRetries(t.Context(), p, req); a.text != "Hi." {
			t.Errorf("%+v", a)
		}
	}
	const chat, responses = "POST /v1/chat/completions", "POST /v1/responses"
	if diff := cmp.Diff([]string{chat, responses, chat, chat, chat}, f.paths); diff != "" {
		t.Error(diff)
	}
}

func TestAPI_OpenAIItself(t *testing.T) {
	t.Parallel()
	var asked []string
	p := newProvider(t, openai.Config{HTTPClient: &http.Client{Transport: wire(func(r *http.Request) *http.Response {
		asked = append(asked, r.URL.String())
		if strings.HasSuffix(r.URL.Path, "/responses") {
			resp := ok(strings.NewReader(`{"error":{"message":"The requested model 'm' cannot be used with the Responses API.","type":"invalid_request_error"}}`))
			resp.StatusCode = 400
			return resp
		}
		return ok(strings.NewReader(events(say("Hi."), stop, done)))
	})}})
	for range 2 {
		if a := askWithRetries(t.Context(), p, question("?")); a.text != "Hi." {
			t.Errorf("%+v", a)
		}
	}
	const base = "https://api.openai.com/v1/"
	if diff := cmp.Diff([]string{base + "responses", base + "chat/completions", base + "chat/completions"}, asked); diff != "" {
		t.Error(diff)
	}
}

// A schema goes up beside tools at OpenAI, on both wires, and nowhere else.
func TestSchemaBesideTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		api   openai.API
		base  string
		want  bool
		field string
	}{
		{openai.APIResponses, "", true, `"json_schema"`},
		{openai.APIChat, "", true, `"json_schema"`},
		{openai.APIChat, "http://localhost:1/v1", false, `"json_schema"`},
	} {
		var body string
		p := newProvider(t, openai.Config{API: c.api, BaseURL: c.base, HTTPClient: &http.Client{Transport: wire(func(r *http.Request) *http.Response {
			open, _ := r.GetBody()
			data, _ := io.ReadAll(open)
			body = string(data)
			return ok(strings.NewReader(""))
		})}})
		req := question("?")
		req.Tools, req.Schema = weather(), json.RawMessage(`{"type":"object"}`)
		ask(t.Context(), p, req) // the answer is empty
		if got := strings.Contains(body, c.field); got != c.want || providers.SchemaBesideTools(p, "m", req.Schema) != c.want {
			t.Errorf("%+v: sent %s", c, body)
		}
	}
}
