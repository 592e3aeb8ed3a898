//go:build unix

package mcpclients_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/internal/testkit"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// memoryLimit bounds the growth of the heap in any fault, in bytes.
const memoryLimit = 32 << 20

func TestFault_FloodsCostLittleMemory(t *testing.T) {
	for _, tc := range []struct{ tool, want string }{
		{"torrent", `"survived"`},
		{"line", `"The server answered with error -32603: the answer is longer than 16 MiB and was dropped: ask for less"`},
		{"flood", `"flooded"`},
	} {
		t.Run(tc.tool, func(t *testing.T) {
			if testing.Short() && tc.tool != "flood" {
				t.Skip("it is slow: it sends and reads hundreds of megabytes")
			}
			m := start(t, servers(bad("s")))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			began := time.Now()
			result, err := m.Call(t.Context(), "s", tc.tool, nil)
			took := time.Since(began)
			runtime.ReadMemStats(&after) // HeapSys only grows, so it is the maximum
			grown := int64(after.HeapSys) - int64(before.HeapSys)
			t.Logf("%s: %s, heap grown by %d KiB", tc.tool, took.Round(time.Millisecond), grown>>10)
			if err != nil || string(result.Output) != tc.want {
				t.Errorf("%.200s, %v", result.Output, err)
			}
			if grown > memoryLimit {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}

// backIn returns the time until the only server has been lost and is ready again, without any
// call.
func backIn(t *testing.T, m *mcpclients.Manager, since time.Time) time.Duration {
	t.Helper()
	waitFor(t, "the server is ready again", func() bool {
		st := status(t, m)
		return st.State == schemas.StateReady && st.Since.After(since)
	})
	return time.Since(since)
}

func TestFault_KilledInMidCall(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	m := start(t, servers(bad("s", "-pid="+pidFile)))
	pid := readPID(t, pidFile)
	failed := make(chan error, 1)
	go func() {
		_, err := m.Call(t.Context(), "s", "hang", nil)
		failed <- err
	}()
	waitFor(t, "the call is under way", func() bool { return slices.Contains(status(t, m).Stderr, "hanging") })
	killed := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err := <-failed
	took := time.Since(killed)
	for _, want := range []string{`"s"`, `"hang"`, "signal: killed", "check before repeating"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	back := backIn(t, m, killed)
	t.Logf("the call failed after %s, the server was back after %s", took.Round(time.Millisecond), back.Round(time.Millisecond))
	if back > 2*time.Second {
		t.Errorf("back only after %s", back)
	}
}

func TestFault_StoppedInMidCall(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	server := bad("s", "-pid="+pidFile)
	server.Timeout = 200 * time.Millisecond
	m := start(t, servers(server))
	pid := readPID(t, pidFile)
	testkit.Freeze(t, pid)
	for range 2 { // a second call must not wait for the first
		began := time.Now()
		_, err := m.Call(t.Context(), "s", "echo", nil)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "raise mcpServers.s.timeout") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the call took %s", took)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	waitFor(t, "the stopped process is gone", func() bool { return !alive(pid) })
}

// restartable is a server on a fixed address that can be killed and started again.
type restartable struct {
	addr    string
	handler func() http.Handler
	server  *http.Server
}

func (r *restartable) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	r.addr = listener.Addr().String()
	r.server = &http.Server{Handler: r.handler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(listener) }()
}

func TestFault_WebServerKilledInMidCall(t *testing.T) {
	release := make(chan struct{})
	entered := make(chan struct{}, 1)
	good := func() *server.MCPServer {
		s := goodServer()
		s.AddTool(mcp.NewTool("wait"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			entered <- struct{}{}
			<-release
			return mcp.NewToolResultText("for nobody"), nil
		})
		return s
	}
	for _, tc := range []struct {
		kind, path string
		handler    func() http.Handler
	}{
		{"http", "/mcp", func() http.Handler { return server.NewStreamableHTTPServer(good(), server.WithStateful(true)) }},
		{"sse", "/sse", func() http.Handler { return server.NewSSEServer(good()) }},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			web := &restartable{addr: "127.0.0.1:0", handler: tc.handler}
			web.start(t)
			m := start(t, servers(transport.ServerConfig{Name: "web", URL: "http://" + web.addr + tc.path, Type: tc.kind}))
			failed := make(chan error, 1)
			go func() {
				_, err := m.Call(t.Context(), "web", "wait", nil)
				failed <- err
			}()
			<-entered
			killed := time.Now()
			_ = web.server.Close()
			if err := <-failed; !errors.Is(err, transport.ErrLost) {
				t.Errorf("got %v", err)
			}
			took := time.Since(killed)
			// Until every part has noticed the loss, a call may still be sent and lost.
			_, err := m.Call(t.Context(), "web", "add", nil)
			if !errors.Is(err, transport.ErrUnavailable) && !errors.Is(err, transport.ErrLost) || errors.Is(err, context.Canceled) {
				t.Errorf("while it is down: %v", err)
			}
			time.Sleep(1500 * time.Millisecond) // a real outage, which a fake clock cannot simulate
			again := time.Now()
			web.start(t)
			defer func() { _ = web.server.Close() }()
			back := backIn(t, m, again)
			t.Logf("the call failed after %s, the server was used again %s after it was back", took.Round(time.Millisecond), back.Round(time.Millisecond))
			if back > 2*time.Second {
				t.Errorf("back only after %s", back)
			}
			if result, err := m.Call(t.Context(), "web", "add", nil); err != nil || string(result.Output) != `"0"` {
				t.Errorf("%s, %v", result.Output, err)
			}
		})
	}
	close(release)
}

func TestFault_LateAnswerIsDropped(t *testing.T) {
	t.Parallel()
	server := bad("s")
	server.Timeout = 100 * time.Millisecond
	server.Rules = []transport.ToolRule{{Glob: "slow", ToolRules: schemas.ToolRules{Timeout: 10 * time.Second}}}
	m := start(t, servers(server))
	if _, err := m.Call(t.Context(), "s", "late", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	for range 3 { // the late answer comes during these calls
		if result, err := m.Call(t.Context(), "s", "slow", nil); err != nil || string(result.Output) != `"slept"` {
			t.Errorf("%s, %v", result.Output, err)
		}
	}
}

func TestFault_ProgressOverStdio(t *testing.T) {
	t.Parallel()
	server := bad("s")
	server.Timeout = 400 * time.Millisecond // less than the 600 ms of the call
	m := start(t, servers(server))
	if result, err := m.Call(t.Context(), "s", "progress", nil); err != nil || string(result.Output) != `"done"` {
		t.Errorf("%s, %v", result.Output, err)
	}
}

func TestFault_ToolsChangeUnderLoad(t *testing.T) {
	m := start(t, servers(bad("s")))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var calls atomic.Int64
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for ctx.Err() == nil {
				if result, err := m.Call(t.Context(), "s", "echo", json.RawMessage(`{"a":1}`)); err != nil || string(result.Output) != `{"a":1}` {
					t.Errorf("%s, %v", result.Output, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for range 20 {
		if _, err := m.Call(t.Context(), "s", "grow", nil); err != nil {
			t.Error(err)
		}
	}
	waitFor(t, "the last tool is there", func() bool { _, ok := m.Catalogue().Lookup("s__grown_19"); return ok })
	stop()
	load.Wait()
	if st := status(t, m); st.State != schemas.StateReady {
		t.Errorf("%+v", st)
	}
	t.Logf("%d calls beside 20 changes", calls.Load())
}

func TestFault_PoisonedAndRenamedTools(t *testing.T) {
	m := start(t, servers(bad("s")))
	for _, tool := range []string{"poison", "rename"} {
		if _, err := m.Call(t.Context(), "s", tool, nil); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the renamed tool is there", func() bool { _, ok := m.Catalogue().Lookup("s__slower"); return ok })
	if _, ok := m.Catalogue().Lookup("s__slow"); ok {
		t.Error("the old name is still offered")
	}
	st := status(t, m)
	if st.State != schemas.StateReady || len(st.Skipped) != 1 || !strings.HasPrefix(st.Skipped[0], "echo: its definition changed at ") {
		t.Errorf("%s, %q", st.State, st.Skipped)
	}
}
