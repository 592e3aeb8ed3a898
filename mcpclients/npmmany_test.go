//go:build unix

package mcpclients_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"molar/internal/testkit/npm"
	"molar/mcpclients"
	"molar/schemas"
	"molar/schemas/lower"
)

// One manager attaches all third-party servers at once: each becomes ready and lists its tools,
// each tool has a schema for every model service, and calls reach their server.
func TestNPM_ManyServers(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	all := npm.Servers(t, dir)
	m := startMany(t, all)
	least := make(map[string]int, len(all))
	for _, s := range all {
		least[s.Config.Name] = s.Tools
	}
	for _, st := range m.Status() {
		t.Logf("%-16s %3d tools", st.Name, st.Tools)
		if st.State != schemas.StateReady || st.Tools < least[st.Name] {
			t.Errorf("%s is %s with %d tools, want %d: %s\n%s", st.Name, st.State, st.Tools, least[st.Name], st.Reason, st.Stderr)
		}
	}
	tools := m.Catalogue().Tools()
	if len(all) < 10 || len(tools) < 150 {
		t.Errorf("%d servers with %d tools, want 10 with 150", len(all), len(tools))
	}
	for _, tool := range tools {
		lowers(t, tool.ToolInfo)
	}
	for _, call := range []struct{ server, tool, args, answer string }{
		{"everything", "get-sum", `{"a":40,"b":2}`, "42"},
		{"filesystem", "write_file", `{"path":` + quoted(filepath.Join(dir, "a.txt")) + `,"content":"a"}`, "Successfully wrote"},
		{"memory", "create_entities", `{"entities":[{"name":"Lan","entityType":"patient","observations":["afraid of drills"]}]}`, "Lan"},
	} {
		wantOf(t, m, call.server, call.tool, call.args, call.answer)
	}
}

// startMany starts servers and waits as long as they may need on a busy machine.
func startMany(t *testing.T, all []npm.Server) *mcpclients.Manager {
	t.Helper()
	var cfg mcpclients.Config
	for _, s := range all {
		cfg.Servers = append(cfg.Servers, s.Config)
	}
	m, err := mcpclients.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	m.Start(t.Context())
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := m.Wait(ctx, nil); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d servers were ready after %s", len(all), time.Since(began).Round(time.Millisecond))
	return m
}

// lowers checks that a tool can be offered to every service.
func lowers(t *testing.T, tool schemas.ToolInfo) {
	t.Helper()
	for service, emit := range map[string]func(json.RawMessage) (lower.Result, error){
		"gemini": lower.ForGemini, "ollama": lower.ForOllama, "openai": lower.ForOpenAI,
	} {
		lowered, err := emit(tool.InputSchema)
		var object struct {
			Type string `json:"type"`
		}
		if err == nil {
			err = json.Unmarshal(lowered.Schema, &object)
		}
		if err != nil || object.Type != "object" || lowered.Wrapped {
			t.Errorf("%s for %s: %s (wrapped: %t), %v", tool.Name, service, lowered.Schema, lowered.Wrapped, err)
		}
	}
}
