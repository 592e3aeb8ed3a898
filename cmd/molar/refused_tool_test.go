package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/cli"
)

// A tool that the model's service refuses costs itself alone, stays out in later
// processes, is named by the trace and by tools lint, and comes back when it changes.
func TestRefusedTool(t *testing.T) {
	description := "It nests."
	tools := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&call)
		switch call.Method {
		case "tools/list":
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"plain","inputSchema":{"type":"object"}},{"name":"nested","description":%q,"inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}]}}`, call.ID, description)
		default:
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, call.ID)
		}
	}))
	defer tools.Close()
	offers := 0 // requests that held the tool
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
		case strings.Contains(string(body), `"deep__nested"`) && strings.Contains(string(body), "It nests."):
			offers++
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
`, model.URL+"/v1", filepath.Join(t.TempDir(), "molar.db"), tools.URL))
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
	if offers != 1 {
		t.Errorf("the tool was offered %d times, want once", offers)
	}
	code, out, errs := molar(t, "turns", "show", "--config", file, answer.TurnID)
	if code != cli.OK || !strings.Contains(out, "deep__nested") || !strings.Contains(out, "stays out until it changes") {
		t.Errorf("the trace: %d %s%s", code, out, errs)
	}
	code, out, _ = molar(t, "tools", "lint", "--config", file)
	if want := "deep__nested for openai: refused: by its service, until the tool changes: Invalid schema"; code != cli.Failure || !strings.Contains(out, want) {
		t.Errorf("tools lint: %d %s", code, out)
	}
	description = "It is flat."
	if code, out, _ = molar(t, "tools", "lint", "--config", file); code != cli.OK {
		t.Errorf("tools lint of the changed tool: %d %s", code, out)
	}
}
