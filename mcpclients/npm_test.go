//go:build unix

package mcpclients_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"molar/internal/testkit/npm"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// The tests of this file attach third-party servers, which .ci/npm installs.

// fromNPM returns the command of a server of the official collection under node, which first
// writes its process id into pidFile.
func fromNPM(t *testing.T, server, pidFile string, args ...string) []string {
	t.Helper()
	script := npm.Installed(t, "npm", "node_modules", "@modelcontextprotocol", server, "dist", "index.js")
	begin := `require("fs").writeFileSync(` + quoted(pidFile) + `, String(process.pid)); import(process.argv[1])`
	return append([]string{"-e", begin, script}, args...)
}

func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

// notificationCounts counts the notifications of the servers of one manager, by method.
type notificationCounts struct {
	mu     sync.Mutex
	counts map[string]int
}

func (h *notificationCounts) wrap(next transport.Dialer) transport.Dialer {
	return func(ctx context.Context, cfg transport.ServerConfig, notify transport.Notify) (transport.Conn, error) {
		return next(ctx, cfg, func(method string, params json.RawMessage) {
			h.mu.Lock()
			h.counts[method]++
			h.mu.Unlock()
			notify(method, params)
		})
	}
}

func (h *notificationCounts) count(method string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts[method]
}

// listening attaches one server, counts its notifications and answers its questions.
func listening(t *testing.T, cfg transport.ServerConfig) (*mcpclients.Manager, *notificationCounts) {
	t.Helper()
	ears := &notificationCounts{counts: map[string]int{}}
	all := servers(cfg)
	all.Wrap = ears.wrap
	all.Elicit = accept(map[string]json.RawMessage{"name": json.RawMessage(`"Lan"`), "ok": json.RawMessage(`true`)})
	m := start(t, all)
	if st := status(t, m); st.State != schemas.StateReady {
		t.Fatalf("the server is %s: %s\n%s", st.State, st.Reason, strings.Join(st.Stderr, "\n"))
	}
	return m, ears
}

// want calls a tool of the server "real" and expects a text in its result.
func want(t *testing.T, m *mcpclients.Manager, tool, args, text string) {
	t.Helper()
	wantOf(t, m, "real", tool, args, text)
}

// wantOf calls a tool of any server and expects a text in its result.
func wantOf(t *testing.T, m *mcpclients.Manager, server, tool, args, text string) {
	t.Helper()
	result, err := m.Call(t.Context(), server, tool, json.RawMessage(args))
	if err != nil || result.IsError || !strings.Contains(string(result.Output), text) {
		t.Errorf("%s(%s): %s (error: %t), %v; want %q in it", tool, args, result.Output, result.IsError, err, text)
	}
}

// wantRefused calls a tool that must return an error with this text.
func wantRefused(t *testing.T, m *mcpclients.Manager, tool, args, text string) {
	t.Helper()
	result, err := m.Call(t.Context(), "real", tool, json.RawMessage(args))
	if err != nil || !result.IsError || !strings.Contains(string(result.Output), text) {
		t.Errorf("%s(%s): %s (error: %t), %v; want an error with %q", tool, args, result.Output, result.IsError, err, text)
	}
}

func TestNPM_EverythingOverStdio(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	cfg := transport.ServerConfig{Name: "real", Command: "node", Args: fromNPM(t, "server-everything", pidFile, "stdio")}
	m, ears := listening(t, cfg)
	changes(t, ears)
	everything(t, m, ears)
	killInMidCall(t, m, func() { kill(t, readPID(t, pidFile)) }, func() {})
	closeWhileAsking(t, cfg, "trigger-elicitation-request")
}

// everything runs the tools of server-everything, over any transport.
func everything(t *testing.T, m *mcpclients.Manager, ears *notificationCounts) {
	t.Helper()
	if st := status(t, m); st.Tools < 12 || st.Protocol != transport.ProtocolHandshake || st.Version == "" {
		t.Errorf("%+v", st)
	}
	tool, ok := m.Catalogue().Lookup("real__get-sum")
	if !ok || !strings.Contains(string(tool.InputSchema), `"required"`) {
		t.Errorf("get-sum: %v, %s", ok, tool.InputSchema)
	}
	want(t, m, "echo", `{"message":"xin chào"}`, "xin chào")
	want(t, m, "get-sum", `{"a":40,"b":2}`, "42")
	want(t, m, "get-structured-content", `{"location":"Chicago"}`, `"temperature":36`)
	want(t, m, "get-tiny-image", `null`, "image/png")
	want(t, m, "get-resource-links", `{"count":2}`, "demo://")
	want(t, m, "trigger-elicitation-request", `{}`, "It was a dark and stormy night.") // a default value
	wantRefused(t, m, "get-sum", `{"a":"forty"}`, "expected number")
	wantRefused(t, m, "no-such-tool", `{}`, "no-such-tool")
	progress(t, m, ears)
	manyCalls(t, m)
	abandonedCall(t, m)
}

// changes waits for the notification that the server sends once the client is ready: its list has
// changed.
func changes(t *testing.T, ears *notificationCounts) {
	t.Helper()
	waitFor(t, "the server says that its list changed", func() bool {
		return ears.count("notifications/tools/list_changed") > 0
	})
}

// progress requests progress notifications of a long operation.
func progress(t *testing.T, m *mcpclients.Manager, ears *notificationCounts) {
	t.Helper()
	before := ears.count("notifications/progress")
	params := map[string]any{
		"name": "trigger-long-running-operation", "arguments": map[string]any{"duration": 0.3, "steps": 3},
		"_meta": map[string]any{"progressToken": "news"},
	}
	if err := m.Request(t.Context(), "real", "tools/call", params, nil); err != nil {
		t.Errorf("long operation: %v", err)
	}
	waitFor(t, "three steps were reported", func() bool { return ears.count("notifications/progress") == before+3 })
}

// manyCalls checks that each answer goes to its caller.
func manyCalls(t *testing.T, m *mcpclients.Manager) {
	t.Helper()
	var calls sync.WaitGroup
	for i := range 50 {
		calls.Go(func() {
			message := "message " + strings.Repeat("x", i)
			result, err := m.Call(t.Context(), "real", "echo", json.RawMessage(`{"message":`+quoted(message)+`}`))
			if err != nil || string(result.Output) != quoted("Echo: "+message) {
				t.Errorf("%s, %v", result.Output, err)
			}
		})
	}
	calls.Wait()
}

// abandonedCall checks that a cancelled call returns at once and does not affect the others.
func abandonedCall(t *testing.T, m *mcpclients.Manager) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := m.Call(ctx, "real", "trigger-long-running-operation", json.RawMessage(`{"duration":30,"steps":1}`))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	want(t, m, "echo", `{"message":"still here"}`, "still here")
}

// killInMidCall stops the server during a call, and starts it again if the manager does not do so
// itself. The call must fail soon with an error that its effect is unknown; later calls must work
// again.
func killInMidCall(t *testing.T, m *mcpclients.Manager, stop, again func()) {
	t.Helper()
	failed := make(chan error, 1)
	go func() {
		_, err := m.Call(t.Context(), "real", "trigger-long-running-operation", json.RawMessage(`{"duration":30,"steps":1}`))
		failed <- err
	}()
	// Once a later call is answered, the first one has been sent.
	want(t, m, "echo", `{"message":"first"}`, "first")
	stop()
	select {
	case err := <-failed:
		if !errors.Is(err, transport.ErrLost) || !strings.Contains(err.Error(), "trigger-long-running-operation") {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the call hangs")
	}
	again()
	began := time.Now()
	waitFor(t, "the server works again", func() bool {
		result, err := m.Call(t.Context(), "real", "echo", json.RawMessage(`{"message":"back"}`))
		return err == nil && !result.IsError
	})
	t.Logf("healthy %s after the server was", time.Since(began).Round(time.Millisecond))
	if st := status(t, m); st.State != schemas.StateReady || st.Tools < 12 {
		t.Errorf("%+v", st)
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("kill %d: %v", pid, err)
	}
}

func TestNPM_Filesystem(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	m, _ := listening(t, transport.ServerConfig{
		Name: "real", Command: "node", Args: fromNPM(t, "server-filesystem", pidFile, dir),
		ExcludeTools: []string{"move_*"},
	})
	if _, ok := m.Catalogue().Lookup("move_file"); ok {
		t.Error("an excluded tool is offered")
	}
	file := filepath.Join(dir, "răng.txt")
	want(t, m, "write_file", `{"path":`+quoted(file)+`,"content":"ba mươi hai"}`, "Successfully wrote")
	want(t, m, "read_text_file", `{"path":`+quoted(file)+`}`, "ba mươi hai")
	want(t, m, "list_directory", `{"path":`+quoted(dir)+`}`, "răng.txt")
	wantRefused(t, m, "read_text_file", `{"path":"/etc/hostname"}`, "Access denied")
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "ba mươi hai" {
		t.Errorf("%q, %v", raw, err)
	}
}

func TestNPM_MemoryKeepsWhatAKilledServerWrote(t *testing.T) {
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "pid")
	m, _ := listening(t, transport.ServerConfig{
		Name: "real", Command: "node", Args: fromNPM(t, "server-memory", pidFile),
		Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")},
	})
	want(t, m, "create_entities", `{"entities":[{"name":"Lan","entityType":"patient","observations":["afraid of drills"]}]}`, "Lan")
	kill(t, readPID(t, pidFile))
	waitFor(t, "the graph can be read again", func() bool {
		result, err := m.Call(t.Context(), "real", "read_graph", nil)
		return err == nil && strings.Contains(string(result.Output), "afraid of drills")
	})
}

func TestNPM_SequentialThinking(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	m, _ := listening(t, transport.ServerConfig{
		Name: "real", Command: "node", Args: fromNPM(t, "server-sequential-thinking", pidFile),
	})
	want(t, m, "sequentialthinking",
		`{"thought":"look first","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, `"thoughtHistoryLength":1`)
}
