package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"molar/internal/cli"
)

// A tool that the model's service refuses costs itself alone, stays out in later
// processes, is named by the trace and by tools lint, and comes back when it changes.
func TestRefusedTool(t *testing.T) {
	t.Parallel()
	description := "It nests."
	tools := messageServer(t, func() string {
		return fmt.Sprintf(`{"name":"plain","inputSchema":{"type":"object"}},{"name":"nested","description":%q,"inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`, description)
	})
	var offers atomic.Int64 // requests that held the tool
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
		case strings.Contains(string(body), `"deep__nested"`) && strings.Contains(string(body), "It nests."):
			offers.Add(1)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Invalid schema for function 'deep__nested': exceeds the maximum allowed nesting depth."}}`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		}
	}))
	defer model.Close()
	file := writeFile(t, "molar.yaml", fmt.Sprintf(`
llm: {provider: openai, openai: {base_url: %q, model: m, small_model: m}}
memory: {store: %q}
mcpServers: {deep: {type: message, url: %q}}
assistants: {plain: {tools: ["deep__*"]}}
default: plain
`, model.URL+"/v1", filepath.Join(t.TempDir(), "molar.db"), tools))
	var answer struct {
		TurnID string `json:"turn_id"`
		Answer string `json:"answer"`
	}
	for range 2 {
		code, out, errs := molar(t, "chat", "--config", file, "--output-format", "json", "hello there")
		if err := json.Unmarshal([]byte(out), &answer); err != nil || code != cli.OK || answer.Answer != "Hello." {
			t.Fatalf("%d %s%s", code, out, errs)
		}
	}
	if offers.Load() != 1 {
		t.Errorf("the tool was offered %d times, want once", offers.Load())
	}
	code, out, errs := molar(t, "turns", "show", "--config", file, answer.TurnID)
	if code != cli.OK || !strings.Contains(out, "deep__nested") || !strings.Contains(out, "the service refused it, and it stays out until") {
		t.Errorf("the trace: %d %s%s", code, out, errs)
	}
	code, out, _ = molar(t, "tools", "lint", "--config", file)
	if want := "deep__nested for openai: refused: the service refused it, and it stays out until"; code != cli.Failure || !strings.Contains(out, want) {
		t.Errorf("tools lint: %d %s", code, out)
	}

	// A host that runs shows it, and takes over what another process forgets.
	s := serveIn(t, homeEnv(t, nil), file)
	shown := func() string {
		_, body := s.do(t, http.MethodGet, "/v1/tools", "")
		return body
	}
	s.waitReady(t, "deep")
	if got := shown(); !strings.Contains(got, `"refused":[{"provider":"openai","reason":"Invalid schema for function 'deep__nested'`) {
		t.Errorf("shown %s", got)
	}
	if s.ask(t, "plain", "c1", "hello again"); offers.Load() != 1 {
		t.Errorf("the tool was offered %d times, want once", offers.Load())
	}
	code, _, errs = molar(t, "tools", "lint", "--config", file, "--forget", "deep__nested", "deep__other")
	if code != cli.OK || !strings.Contains(errs, "deep__nested is offered to openai again") {
		t.Errorf("tools lint --forget: %d %s", code, errs)
	}
	eventually(t, "it is forgotten", func() bool { return !strings.Contains(shown(), "refused") })
	if s.ask(t, "plain", "c2", "hello once more"); offers.Load() != 2 {
		t.Errorf("the tool was offered %d times, want twice", offers.Load())
	}
	if code, body := s.do(t, http.MethodDelete, "/v1/tools/deep__nested/refusals", ""); code != http.StatusOK || strings.Contains(body, "refused") {
		t.Errorf("%d %s", code, body)
	}
	if s.ask(t, "plain", "c3", "and again"); offers.Load() != 3 {
		t.Errorf("the tool was offered %d times, want three times", offers.Load())
	}
	// A client is told when its own tool is refused.
	_, body := s.do(t, http.MethodPost, "/v1/chat/completions", `{"model":"plain","messages":[{"role":"user","content":"hello"}],
		"tools":[{"type":"function","function":{"name":"deep__nested","description":"It nests.","parameters":{"type":"object"}}}]}`)
	if want := "the client's tool deep__nested is not offered to openai: the service refused it"; !strings.Contains(body, want) || offers.Load() != 4 {
		t.Errorf("offered %d times, %s", offers.Load(), body)
	}
	s.stop()

	description = "It is flat."
	if code, out, _ = molar(t, "tools", "lint", "--config", file); code != cli.OK {
		t.Errorf("tools lint of the changed tool: %d %s", code, out)
	}
}

// messageServer is an MCP server that lists tools, and its address.
func messageServer(t *testing.T, list func() string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&call)
		switch call.Method {
		case "tools/list":
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, call.ID, list())
		default:
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, call.ID)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// When the service refuses a call, the model gets the reason and tries again, within the limits of
// a turn; the tool stays offered.
func TestRefusedCall(t *testing.T) {
	t.Parallel()
	tools := messageServer(t, func() string {
		return `{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}`
	})
	for name, c := range map[string]struct {
		refusals int // before the model answers
		code     int
		requests int
		says     string
	}{
		"once":     {1, cli.OK, 2, "Hello."},
		"for ever": {1000, cli.Failure, 4, "Tool call validation failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var bodies []string
			model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.Method == http.MethodGet {
					_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if bodies = append(bodies, string(body)); len(bodies) <= c.refusals {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `{"error":{"message":"Tool call validation failed: tool call validation failed: parameters for tool bad__echo did not match schema: errors: [missing properties: 'text']","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"{\"name\": \"bad__echo\", \"arguments\": {\"words\":\"x\"}}"}}`)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			}))
			defer model.Close()
			file := writeFile(t, "molar.yaml", fmt.Sprintf(`
llm: {provider: openai, openai: {base_url: %q, model: m, small_model: m}}
memory: {store: %q}
mcpServers: {bad: {type: message, url: %q}}
assistants: {plain: {tools: ["bad__echo"]}}
limits: {rounds: 2}
default: plain
`, model.URL+"/v1", filepath.Join(t.TempDir(), "molar.db"), tools))
			code, out, errs := molar(t, "chat", "--config", file, "--yes", "hello there")
			mu.Lock()
			defer mu.Unlock()
			if code != c.code || !strings.Contains(out+errs, c.says) || len(bodies) != c.requests {
				t.Errorf("%d after %d requests: %s%s", code, len(bodies), out, errs)
			}
			for i, body := range bodies {
				if !strings.Contains(body, `"tools":[`) || strings.Contains(body, "do not fit its schema") != (i > 0) {
					t.Errorf("request %d: %s", i+1, body)
				}
			}
		})
	}
}
