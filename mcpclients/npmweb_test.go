//go:build unix

package mcpclients_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/testkit/npm"
	"molar/mcpclients"
	"molar/mcpclients/transport"
)

// webServer is a third-party server in a separate process.
type webServer struct {
	addr    string
	command func(ctx context.Context, addr string) *exec.Cmd
	running *exec.Cmd
}

// serve starts the server on a free port and ends it after the test.
func serve(t *testing.T, command func(ctx context.Context, addr string) *exec.Cmd) *webServer {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &webServer{addr: free.Addr().String(), command: command}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	t.Cleanup(s.kill)
	return s
}

// start returns once the server listens.
func (s *webServer) start(t *testing.T) {
	t.Helper()
	s.running = s.command(t.Context(), s.addr)
	if err := s.running.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the server listens", func() bool {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
}

func (s *webServer) kill() {
	_ = s.running.Process.Kill()
	_ = s.running.Wait() // it was killed
}

func TestNPM_EverythingOverTheWeb(t *testing.T) {
	for _, tc := range []struct {
		name, mode string
		cfg        transport.ServerConfig
	}{
		{"streamable HTTP", "streamableHttp", transport.ServerConfig{URL: "/mcp"}},
		{"SSE", "sse", transport.ServerConfig{URL: "/sse", Type: "sse"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := fromNPM(t, "server-everything", filepath.Join(t.TempDir(), "pid"), tc.mode)
			web := serve(t, func(ctx context.Context, addr string) *exec.Cmd {
				cmd := exec.CommandContext(ctx, "node", args...)
				_, port, _ := net.SplitHostPort(addr)
				cmd.Env = append(os.Environ(), "PORT="+port)
				return cmd
			})
			tc.cfg.Name, tc.cfg.URL = "real", "http://"+web.addr+tc.cfg.URL
			m, ears := listening(t, tc.cfg)
			if tc.mode == "sse" { // in the other mode the notification can come before its stream is open
				changes(t, ears)
			}
			everything(t, m, ears)
			killInMidCall(t, m, web.kill, func() { web.start(t) })
			closeWhileAsking(t, tc.cfg, "trigger-elicitation-request")
		})
	}
}

// The Go SDK's own test server is a second implementation of the protocol, different from that of
// the official collection and from ours.
func TestGoSDK_Everything(t *testing.T) {
	program := npm.Installed(t, "bin", "everything-server")
	web := serve(t, func(ctx context.Context, addr string) *exec.Cmd {
		return exec.CommandContext(ctx, program, "-http="+addr, "-stateless=false")
	})
	for _, tc := range []struct {
		name string
		cfg  transport.ServerConfig
	}{
		{"streamable HTTP", transport.ServerConfig{Name: "real", URL: "http://" + web.addr}},
		{"stdio", transport.ServerConfig{Name: "real", Command: program}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, ears := listening(t, tc.cfg)
			sdkTools(t, m)
			before := ears.count("notifications/tools/list_changed")
			want(t, m, "test_trigger_tool_change", `{}`, "")
			waitFor(t, "the server says that its list changed", func() bool {
				return ears.count("notifications/tools/list_changed") > before
			})
		})
	}
}

func TestGoSDK_WithoutHandshake(t *testing.T) {
	program := npm.Installed(t, "bin", "everything-server")
	web := serve(t, func(ctx context.Context, addr string) *exec.Cmd {
		return exec.CommandContext(ctx, program, "-http="+addr)
	})
	for _, protocol := range []string{transport.ProtocolStateless, transport.ProtocolAuto} {
		t.Run(protocol, func(t *testing.T) {
			m, ears := listening(t, transport.ServerConfig{Name: "real", URL: "http://" + web.addr, Protocol: protocol})
			if st := status(t, m); st.Protocol != transport.ProtocolStateless {
				t.Errorf("%+v", st)
			}
			want(t, m, "test_simple_text", `{}`, "simple text")
			want(t, m, "test_x_mcp_header", `{"region":"Huế"}`, "Huế")
			want(t, m, "test_input_required_result_elicitation", `{}`, "Hello, Lan!")
			want(t, m, "test_input_required_result_request_state", `{}`, "state-ok")
			wantRefused(t, m, "test_input_required_result_sampling", `{}`, "sampling")
			polls := 0
			waitFor(t, "the server says that its list changed", func() bool {
				if polls++; polls%40 == 1 { // repeatedly: its first notification may come before the stream is open
					want(t, m, "test_trigger_tool_change", `{}`, "")
				}
				return ears.count("notifications/tools/list_changed") > 0
			})
		})
	}
}

func sdkTools(t *testing.T, m *mcpclients.Manager) {
	t.Helper()
	if st := status(t, m); st.Tools < 20 || st.Protocol != transport.ProtocolHandshake {
		t.Errorf("%+v", st)
	}
	tool, ok := m.Catalogue().Lookup("json_schema_2020_12_tool")
	if !ok || !strings.Contains(string(tool.InputSchema), `"$defs"`) {
		t.Errorf("the schema lost keywords: %s", tool.InputSchema)
	}
	want(t, m, "test_simple_text", `{}`, "simple text")
	want(t, m, "test_image_content", `{}`, "image/png")
	want(t, m, "test_embedded_resource", `{}`, "embedded resource")
	want(t, m, "test_tool_with_logging", `{}`, "")
	want(t, m, "test_elicitation_sep1034_defaults", `{}`, "age:30 name:Lan")
	wantRefused(t, m, "test_error_handling", `{}`, "error")
	wantRefused(t, m, "no_such_tool", `{}`, "no_such_tool")
	params := map[string]any{
		"name": "test_tool_with_progress", "arguments": struct{}{},
		"_meta": map[string]any{"progressToken": "news"},
	}
	var result struct {
		Content []json.RawMessage `json:"content"`
	}
	if err := m.Request(t.Context(), "real", "tools/call", params, &result); err != nil || len(result.Content) == 0 {
		t.Errorf("%+v, %v", result, err)
	}
}
