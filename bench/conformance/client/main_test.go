//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/internal/testkit/oauthserver"
)

// program is the path of molar, built once for all tests.
var program string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "molar")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "molar")
	if out, err := exec.Command("go", "build", "-C", "../../..", "-o", program, "./cmd/molar").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build molar: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// A suite stands for the real one: it serves tools and notes the calls.
type suite struct {
	mu    sync.Mutex
	calls []string
}

// serve offers tools with these input schemas; the one called "faulty" reports an
// error, and the one called "asking" notes the answer to a form.
func (s *suite) serve(t *testing.T, tools map[string]string) string {
	t.Helper()
	mcpServer := server.NewMCPServer("suite", "1", server.WithToolCapabilities(true), server.WithElicitation())
	for name, schema := range tools {
		mcpServer.AddTool(mcp.NewToolWithRawSchema(name, "", json.RawMessage(schema)),
			func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if name == "asking" && len(r.Params.InputResponses) == 0 {
					return server.NewInputRequestBuilder("").Elicit("when", mcp.ElicitationParams{
						Mode: mcp.ElicitationModeForm, Message: "When?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{
							"day": map[string]any{"type": "string", "default": "Monday"}, "hour": map[string]any{"type": "integer"},
						}, "required": []string{"hour"}},
					}).ToolResult(), nil
				}
				raw, err := json.Marshal(r.Params.Arguments)
				if name == "asking" {
					raw, err = json.Marshal(r.Params.InputResponses)
				}
				s.mu.Lock()
				s.calls = append(s.calls, fmt.Sprintf("%s %s", r.Params.Name, raw))
				s.mu.Unlock()
				if r.Params.Name == "faulty" {
					return mcp.NewToolResultError("broken"), nil
				}
				return mcp.NewToolResultText("ok"), err
			})
	}
	web := httptest.NewServer(server.NewStreamableHTTPServer(mcpServer, server.WithStateful(true)))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}

func vars(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestRun(t *testing.T) {
	for _, tc := range []struct {
		name  string
		tools map[string]string
		env   map[string]string
		code  int
		calls []string
	}{
		{
			name: "each tool is called with what it requires",
			tools: map[string]string{
				"add":  `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"integer"},"c":{"type":"string"}},"required":["a","b"]}`,
				"echo": `{"type":"object","properties":{"schema":{"type":"object"}},"required":["schema"]}`,
			},
			env: map[string]string{scenarioVar: "tools_call"},
			calls: []string{
				`add {"a":3,"b":3}`,
				`echo {"schema":{"properties":{"a":{"type":"number"},"b":{"type":"integer"},"c":{"type":"string"}},"required":["a","b"],"type":"object"}}`,
			},
		},
		{
			name:  "prescribed calls come instead",
			tools: map[string]string{"add": `{"type":"object"}`, "other": `{"type":"object"}`},
			env:   map[string]string{contextVar: `{"name":"x","toolCalls":[{"name":"other","arguments":{"n":null}}]}`},
			calls: []string{`other {"n":null}`},
		},
		{
			name:  "a tool's error fails the run, after the other calls",
			tools: map[string]string{"faulty": `{"type":"object"}`, "fine": `{"type":"object"}`},
			code:  1,
			calls: []string{`faulty {}`, `fine {}`},
		},
		{name: "a context that is no JSON", env: map[string]string{contextVar: "{"}, code: 2},
		{
			name: "a form is answered at the terminal", tools: map[string]string{"asking": `{"type":"object"}`},
			calls: []string{`asking {"when":{"action":"accept","content":{"day":"Monday","hour":1}}}`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s suite
			url := s.serve(t, tc.tools)
			var log strings.Builder
			if code := run(t.Context(), []string{"-molar", program, url}, vars(tc.env), &log); code != tc.code {
				t.Errorf("code %d, want %d\n%s", code, tc.code, log.String())
			}
			if diff := cmp.Diff(tc.calls, s.calls); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("wrong arguments", func(t *testing.T) {
		if code := run(t.Context(), nil, vars(nil), &strings.Builder{}); code != 2 {
			t.Errorf("code %d", code)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		web := httptest.NewServer(nil)
		web.Close()
		if code := run(t.Context(), []string{"-molar", program, web.URL}, vars(nil), &strings.Builder{}); code != 1 {
			t.Errorf("code %d", code)
		}
	})
	t.Run("a login", func(t *testing.T) {
		guarded := oauthserver.New()
		t.Cleanup(guarded.Close)
		var log strings.Builder
		if code := run(t.Context(), []string{"-molar", program, guarded.MCP()}, vars(nil), &log); code != 0 {
			t.Errorf("code %d\n%s", code, log.String())
		}
	})
}
