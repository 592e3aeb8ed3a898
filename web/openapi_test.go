package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"molar/agent/answer"
	"molar/internal/telemetry"
	"molar/providers"
	"molar/schemas"
	"molar/web"
	"molar/web/turns"
)

// operated returns a config with all operations of an operator, with fixed data.
func operated(t *testing.T, run turns.Runner) web.Config {
	t.Helper()
	cfg := config(t, run)
	tel, err := telemetry.New(t.Context(), telemetry.Config{Metrics: true})
	if err != nil {
		t.Fatal(err)
	}
	tel.CountCall(telemetry.Call{ID: "k1", TurnID: "t1", At: created, Server: "family", Tool: "search", Status: "ok", DurationMS: 1.5})
	tel.CountCall(telemetry.Call{ID: "k2", At: created, Server: "family", Tool: "get", Status: "tool_error", Error: "no such family"})
	cfg.Telemetry = tel
	cfg.Feedback = fakeFeedback{}
	cfg.Knowledge = theHandbook()
	cfg.Grants = &someGrants{}
	cfg.Audit = &auditOf{}
	cfg.People = &somePeople{}
	cfg.Review = reviewOf(&someTurns{})
	cfg.Handovers = newDesk()
	cfg.Logins = &someLogins{}
	cfg.Reload = func(context.Context) (web.Reloaded, error) { return web.Reloaded{Added: []string{"a"}}, nil }
	cfg.Operations = web.Operations{
		SwitchTool: func(context.Context, string, bool) error { return nil },
		CallTool: func(_ context.Context, _ string, args json.RawMessage) (web.ToolOutcome, error) {
			var asked struct{ Status string }
			_ = json.Unmarshal(args, &asked)
			if asked.Status == "" {
				asked.Status = "ok"
			}
			return web.ToolOutcome{
				Status: asked.Status, Took: 2 * time.Millisecond,
				Result: schemas.ToolResult{ToolName: "search", Server: "family", ID: "k", Output: json.RawMessage(`{"n":1}`)},
			}, nil
		},
		Settings: func() web.Settings {
			return web.Settings{File: "/etc/molar.yaml", Settings: []schemas.Setting{
				{Key: "llm.provider", Value: "ollama", Origin: "/etc/molar.yaml:2"}, {Key: "OPENAI_API_KEY", Value: "***", Origin: "environment", Secret: true},
			}}
		},
		ApproveServer: func(_ context.Context, server, digest string) ([]string, error) {
			switch {
			case server != "family":
				return nil, web.ErrUnknown
			case digest == "old":
				return nil, web.ErrConflict
			}
			return []string{"search"}, nil
		},
		Classify: func(schemas.Tool) (string, string) { return "reads", "it announces itself as read-only" },
		Refusals: func(tool schemas.Tool) []schemas.Refusal {
			if tool.Name != "family__search" {
				return nil
			}
			return []schemas.Refusal{{Provider: "openai", Tool: tool.Name, Reason: "its schema is too deep", At: created}}
		},
		ForgetRefusals: func(context.Context, string) error { return nil },
		Lint:           func(schemas.Tool) web.Lint { return web.Lint{} },
		ImportServers: func(text string) (web.Imported, error) {
			if text == "" {
				return web.Imported{}, errors.New("nothing was pasted")
			}
			return web.Imported{Host: "Cursor", File: "/etc/molar/molar.yaml", Place: web.PlaceEnd, YAML: "mcpServers:\n  notes:\n    command: npx\n    env: {TOKEN: \"${NOTES_TOKEN}\"}\n", Servers: []string{"notes"}, Variables: []string{"NOTES_TOKEN"}, VariablesFile: "/etc/molar/molar.env"}, nil
		},
		Providers: func(context.Context) []web.Provider {
			return []web.Provider{
				{Name: "gemini", KeySetting: "GEMINI_API_KEY", Missing: "set GEMINI_API_KEY"},
				{Name: "openai", KeySetting: "OPENAI_API_KEY", Model: "scripted", SmallModel: "scripted-small"},
				{Name: "ollama", Err: &providers.Error{Kind: providers.KindUnavailable, Provider: "ollama", Err: errors.New("nobody listens")}},
				{Name: "offline"},
			}
		},
		TestProvider: func(_ context.Context, provider, model string) (web.ProviderTest, error) {
			test := web.ProviderTest{Provider: provider, Model: model, Text: "ok", First: time.Millisecond, Took: 2 * time.Millisecond, Models: []string{"m"}}
			switch provider {
			case "none":
				return web.ProviderTest{}, web.ErrUnknown
			case "gemini":
				test.Err = &providers.Error{Kind: providers.KindAuth, Provider: provider, Err: errors.New("key refused")}
			}
			return test, nil
		},
	}
	return cfg
}

// pages are the routes that answer people, not programs.
var pages = []string{"/", "/static/*file", "/tools", "/config", "/turn", "/desk", "/account", "/login", "/knowledge/:name/*file", "/v1/logins/:server/begin", "/oauth/callback", "/oauth/finish"}

func TestOpenAPI_NamesEveryRoute(t *testing.T) {
	routes, raw, err := web.RoutesAndDocument(operated(t, play(nil)))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	param := regexp.MustCompile(`:(\w+)`)
	known := map[string]bool{}
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		if slices.Contains(pages, path) {
			continue
		}
		path = param.ReplaceAllString(path, "{$1}")
		known[strings.ToLower(method)+" "+path] = true
		if doc.Paths[path][strings.ToLower(method)] == nil {
			t.Errorf("the document does not name %s %s", method, path)
		}
	}
	for path, item := range doc.Paths {
		for method := range item {
			if !known[method+" "+path] {
				t.Errorf("the document names %s %s, which does not exist", method, path)
			}
		}
	}
}

// checkedDocument compiles schemas of the OpenAPI document by JSON pointer.
type checkedDocument struct {
	compiler *jsonschema.Compiler
	doc      map[string]any
}

func openDocument(t *testing.T, cfg web.Config) checkedDocument {
	t.Helper()
	_, raw, err := web.RoutesAndDocument(cfg)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("doc.json", value); err != nil {
		t.Fatal(err)
	}
	return checkedDocument{c, value.(map[string]any)}
}

// check validates a body against the schema of an answer in the document.
func (d checkedDocument) check(t *testing.T, method, path, status, media string, body []byte) {
	t.Helper()
	pointer := "/paths/" + strings.ReplaceAll(path, "/", "~1") + "/" + strings.ToLower(method) +
		"/responses/" + status + "/content/" + strings.ReplaceAll(media, "/", "~1") + "/schema"
	pointer = strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer)
	schema, err := d.compiler.Compile("doc.json#" + pointer)
	if err != nil {
		t.Errorf("%s %s: the document has no answer %s as %s: %v", method, path, status, media, err)
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Errorf("%s %s: %v in %s", method, path, err, body)
		return
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s %s answered %s, which is not what the document says:\n%s\n%v", method, path, status, body, err)
	}
}

func TestOpenAPI_AnswersMatch(t *testing.T) {
	run := play(nil, start(), toolCall(), toolResult(), text("a"), done())
	cfg := operated(t, run)
	traces := fullTrace{}
	cfg.Traces = traces
	doc, h := openDocument(t, cfg), build(t, cfg)
	const chat = `{"molar":{"events":true},` + question + `}`
	for _, tt := range []struct{ method, path, pattern, body, status string }{
		{"POST", "/v1/chat/completions", "", chat, "200"},
		{"POST", "/chat", "", `{` + question + `}`, "200"},
		{"POST", "/chat", "", `{}`, "400"},
		{"GET", "/v1/models", "", "", "200"},
		{"GET", "/v1/models/dental", "/v1/models/{id}", "", "200"},
		{"GET", "/v1/models/none", "/v1/models/{id}", "", "404"},
		{"GET", "/v1/conversations?limit=1", "/v1/conversations", "", "200"},
		{"GET", "/v1/conversations/c1", "/v1/conversations/{id}", "", "200"},
		{"GET", "/v1/conversations/c2", "/v1/conversations/{id}", "", "404"},
		{"PATCH", "/v1/conversations/c1", "/v1/conversations/{id}", `{"title":"x"}`, "200"},
		{"DELETE", "/v1/conversations/c1", "/v1/conversations/{id}", "", "200"},
		{"POST", "/v1/conversations/c1/clear", "/v1/conversations/{id}/clear", "", "200"},
		{"GET", "/v1/turns/t1", "/v1/turns/{id}", "", "200"},
		{"GET", "/v1/turns/t2/events", "/v1/turns/{id}/events", "", "404"},
		{"DELETE", "/v1/turns/t2", "/v1/turns/{id}", "", "404"},
		{"POST", "/v1/turns/t1/feedback", "/v1/turns/{id}/feedback", `{"mark":"down","note":"wrong dose"}`, "200"},
		{"POST", "/v1/turns/chatcmpl-t1/feedback", "/v1/turns/{id}/feedback", `{"mark":"none"}`, "200"},
		{"POST", "/v1/turns/t2/feedback", "/v1/turns/{id}/feedback", `{"mark":"up"}`, "404"},
		{"POST", "/v1/turns/t1/feedback", "/v1/turns/{id}/feedback", `{"mark":"bad"}`, "400"},
		{"GET", "/v1/feedback?mark=down&since=2026-01-31T00:00:00Z&limit=3", "/v1/feedback", "", "200"},
		{"GET", "/v1/feedback?since=7d", "/v1/feedback", "", "400"},
		{"GET", "/v1/handovers?state=sending,closed&limit=1", "/v1/handovers", "", "200"},
		{"GET", "/v1/handovers?state=lost", "/v1/handovers", "", "400"},
		{"GET", "/v1/conversations/visit_a/messages", "/v1/conversations/{id}/messages", "", "200"},
		{"GET", "/v1/conversations/visit_none/messages", "/v1/conversations/{id}/messages", "", "404"},
		{"POST", "/v1/conversations/visit_a/messages", "/v1/conversations/{id}/messages", `{"text":"Hello","author":"Lan","close":true}`, "200"},
		{"POST", "/v1/conversations/visit_a/messages", "/v1/conversations/{id}/messages", `{"text":"Hello"}`, "409"},
		{"POST", "/v1/conversations/visit_a/messages", "/v1/conversations/{id}/messages", `{}`, "400"},
		{"GET", "/v1/approvals", "", "", "200"},
		{"POST", "/v1/approvals/none", "/v1/approvals/{id}", `{"token":"x","decision":"approve"}`, "404"},
		{"GET", "/v1/grants", "", "", "200"},
		{"DELETE", "/v1/grants/none", "/v1/grants/{id}", "", "404"},
		{"GET", "/v1/logins", "", "", "200"},
		{"DELETE", "/v1/logins/desk", "/v1/logins/{server}", "", "200"},
		{"DELETE", "/v1/logins/none", "/v1/logins/{server}", "", "404"},
		{"GET", "/v1/questions", "", "", "200"},
		{"POST", "/v1/questions/none", "/v1/questions/{id}", `{"action":"accept"}`, "404"},
		{"GET", "/v1/tools?provider=gemini", "/v1/tools", "", "200"},
		{"GET", "/v1/tools?provider=x", "/v1/tools", "", "400"},
		{"PATCH", "/v1/tools/family__search", "/v1/tools/{name}", `{"enabled":false}`, "200"},
		{"DELETE", "/v1/tools/search/refusals", "/v1/tools/{name}/refusals", "", "200"},
		{"DELETE", "/v1/tools/none/refusals", "/v1/tools/{name}/refusals", "", "404"},
		{"POST", "/v1/tools/search/call", "/v1/tools/{name}/call", `{"arguments":{"q":"x"}}`, "200"},
		{"POST", "/v1/tools/search/call", "/v1/tools/{name}/call", `{"arguments":{"status":"timeout"}}`, "424"},
		{"GET", "/v1/calls", "", "", "200"},
		{"GET", "/v1/audit?since=2026-01-31T00:00:00Z&person=operator&after=0&limit=3", "/v1/audit", "", "200"},
		{"GET", "/v1/audit?limit=0", "/v1/audit", "", "400"},
		{"GET", "/v1/servers", "", "", "200"},
		{"POST", "/v1/servers/family/approve", "/v1/servers/{name}/approve", `{"digest":"x"}`, "200"},
		{"POST", "/v1/servers/family/approve", "/v1/servers/{name}/approve", `{"digest":"old"}`, "409"},
		{"POST", "/v1/servers/import", "/v1/servers/import", `{"text":"https://mcp.example.com/"}`, "200"},
		{"POST", "/v1/servers/import", "/v1/servers/import", `{"text":""}`, "400"},
		{"POST", "/v1/servers/reload", "", "", "200"},
		{"GET", "/v1/providers", "", "", "200"},
		{"GET", "/v1/setup?assistant=dental", "/v1/setup", "", "200"},
		{"POST", "/v1/providers/ollama/test", "/v1/providers/{name}/test", "", "200"},
		{"POST", "/v1/providers/gemini/test", "/v1/providers/{name}/test", `{"model":"m"}`, "200"},
		{"POST", "/v1/providers/none/test", "/v1/providers/{name}/test", "", "404"},
		{"GET", "/openapi.json", "", "", "200"},
		{"GET", "/health", "", "", "200"},
		{"GET", "/ready", "", "", "200"},
	} {
		w := serve(h, request(tt.method, tt.path, tt.body))
		if got := w.Result().Status[:3]; got != tt.status {
			t.Errorf("%s %s: status %s, want %s: %s", tt.method, tt.path, got, tt.status, w.Body)
			continue
		}
		pattern := tt.pattern
		if pattern == "" {
			pattern = tt.path
		}
		doc.check(t, tt.method, pattern, tt.status, "application/json", w.Body.Bytes())
	}
	stream := post(h, `{"stream":true,"stream_options":{"include_usage":true},`+chat[1:])
	seen := 0
	for line := range strings.Lines(stream.Body.String()) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
			seen++
			doc.check(t, "POST", "/v1/chat/completions", "200", "text/event-stream", []byte(data))
		}
	}
	if seen < 5 {
		t.Errorf("a stream of %d events: %s", seen, stream.Body)
	}
	if w := serve(h, request(http.MethodGet, "/metrics", "")); w.Code != 200 || !strings.Contains(w.Body.String(), "molar_http_requests_total{") {
		t.Errorf("/metrics: %d %.200s", w.Code, w.Body)
	}
}

// The document describes the fields of a request, and real requests match it.
func TestOpenAPI_Requests(t *testing.T) {
	doc := openDocument(t, operated(t, play(nil)))
	schema, err := doc.compiler.Compile("doc.json#/paths/~1v1~1chat~1completions/post/requestBody/content/application~1json/schema")
	if err != nil {
		t.Fatal(err)
	}
	for body, fits := range map[string]bool{
		`{` + question + `}`: true,
		`{"model":"dental","stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"stop":["a"],"user":"me"}`: true,
		`{"model":"dental"}`:                          true,
		`{"messages":"hello"}`:                        false,
		`{"stream":1,` + question + `}`:               false,
		`{"molar":{"events":"yes"},` + question + `}`: false,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		want := fits && strings.Contains(body, "messages")
		if err := schema.Validate(value); (err == nil) != want {
			t.Errorf("%s: fits %v, want %v: %v", body, err == nil, want, err)
		}
	}
}

// fullTrace returns a trace in which every field is set.
type fullTrace struct{}

func (fullTrace) Trace(_ context.Context, _, id string) (json.RawMessage, bool, error) {
	full := answer.Trace{
		TurnID: "t1", ConversationID: "c1", Assistant: "dental", Provider: "ollama", Model: "m", Route: "r", Started: created,
		Status: "done", Language: "en", Question: "q", QuestionHash: "h", Answer: "a", Verdict: &answer.VerdictTrace{}, Memory: "read",
		Steps:  []answer.StepTrace{{Step: "answer", TookMS: 1}},
		Tools:  []answer.ToolTrace{{Name: "family__search", Calls: []answer.CallTrace{{ID: "k", At: created, Server: "family", Tool: "search", Arguments: "{}"}}}},
		Passes: []answer.PassTrace{{Pass: providers.PassTool, Calls: []schemas.ToolCall{call}}},
		Done:   done().Done,
	}
	raw, err := full.Encode()
	return raw, id == "t1", err
}
