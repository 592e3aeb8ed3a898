package mcpclients_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// serveHTTP serves handler for the test.
func serveHTTP(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func overHTTP(url string) transport.ServerConfig {
	return transport.ServerConfig{Name: "web", URL: url}
}

// withHandshake serves s only in the revisions that begin with a handshake.
func withHandshake(s *server.MCPServer) http.Handler {
	return server.NewStreamableHTTPServer(s, server.WithStateful(true), server.WithStreamableHTTPProtocolVersions(transport.Handshakes()...))
}

func TestHTTP_RealServer(t *testing.T) {
	real := goodServer()
	cancelled := make(chan struct{}, 1)
	var auth sync.Map
	mcpHandler := withHandshake(real)
	web := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth.Store(r.Method+" "+r.Header.Get("Authorization"), true)
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "notifications/cancelled") {
			cancelled <- struct{}{}
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		mcpHandler.ServeHTTP(w, r)
	}))
	cfg := overHTTP(web.URL)
	cfg.Headers = map[string]string{"Authorization": "Bearer x"}
	m := start(t, servers(cfg))
	if st := status(t, m); st.State != schemas.StateReady || st.Tools != 3 || st.Transport != "http" {
		t.Fatalf("%+v", st)
	}
	result, err := m.Call(t.Context(), "web", "add", json.RawMessage(`{"a":40,"b":2}`))
	if err != nil || string(result.Output) != `"42"` {
		t.Errorf("%s, %v", result.Output, err)
	}

	t.Run("cancelling a call tells the server", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := m.Call(ctx, "web", "sleep", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		select {
		case <-cancelled:
		case <-time.After(5 * time.Second):
			t.Error("no notice came")
		}
	})
	t.Run("an unknown method is an error of the server's", func(t *testing.T) {
		err := m.Request(t.Context(), "web", "memory/none", map[string]string{"a": "b"}, nil)
		rpc, ok := errors.AsType[*transport.RPCError](err)
		if !ok || rpc.Code != -32601 || rpc.Server != "web" || rpc.Method != "memory/none" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a changed list is noticed", func(t *testing.T) {
		waitFor(t, "the listening stream is open", func() bool { _, ok := auth.Load("GET Bearer x"); return ok })
		real.AddTool(mcp.NewTool("late"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("hello"), nil
		})
		waitFor(t, "the new tool is there", func() bool { _, ok := m.Catalogue().Lookup("web__late"); return ok })
	})
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, ok := auth.Load("DELETE Bearer x"); !ok {
		t.Error("the session was not ended with the configured headers")
	}
}

func TestHTTP_SessionLost(t *testing.T) {
	for _, code := range []int{http.StatusNotFound, http.StatusBadRequest} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			var forget atomic.Bool
			var calls atomic.Int32
			real := withHandshake(goodServer())
			web := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), `"tools/call"`) {
					calls.Add(1)
					if forget.CompareAndSwap(true, false) {
						http.Error(w, "Bad Request: no valid session ID provided", code)
						return
					}
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				real.ServeHTTP(w, r)
			}))
			m := start(t, servers(overHTTP(web.URL)))
			forget.Store(true)
			result, err := m.Call(t.Context(), "web", "add", json.RawMessage(`{"a":1,"b":1}`))
			if err != nil || string(result.Output) != `"2"` || calls.Load() != 2 {
				t.Errorf("%s, %v after %d requests", result.Output, err, calls.Load())
			}
		})
	}
}

func TestHTTP_StartFailures(t *testing.T) {
	answer := func(code int, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, text, code) })
	}
	elsewhere := httptest.NewServer(answer(http.StatusOK, ""))
	elsewhere.Close()
	for _, tc := range []struct {
		name    string
		handler http.Handler
		want    string
	}{
		{"wrong credentials", answer(401, "no"), "refused the credentials (HTTP 401)"},
		{"not MCP", answer(405, "<html>"), "does not speak streamable HTTP there"},
		{"broken", answer(503, "try later"), "HTTP 503 Service Unavailable: try later: start the server"},
		{"redirects elsewhere", http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect), "redirects to"},
		{"no JSON", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "<!doctype html>")
		}), "invalid character"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			web := serveHTTP(t, tc.handler)
			m := start(t, servers(overHTTP(web.URL+"/mcp?key=hidden")))
			st := status(t, m)
			if st.State != schemas.StateFailed || !strings.Contains(st.Reason, tc.want) {
				t.Errorf("%s: %s", st.State, st.Reason)
			}
			if strings.Contains(st.Reason, "hidden") {
				t.Errorf("reason %q shows the query", st.Reason)
			}
		})
	}
}

func TestHTTP_ServerComesUpLate(t *testing.T) {
	var up atomic.Bool
	real := server.NewStreamableHTTPServer(goodServer(), server.WithStateful(true))
	web := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		real.ServeHTTP(w, r)
	}))
	m := start(t, servers(overHTTP(web.URL)))
	if _, err := m.Call(t.Context(), "web", "add", nil); !errors.Is(err, transport.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	up.Store(true)
	if result, err := m.Call(t.Context(), "web", "add", nil); err != nil || string(result.Output) != `"0"` {
		t.Errorf("%s, %v", result.Output, err)
	}
}

func TestHTTP_DeathInMidCall(t *testing.T) {
	entered := make(chan struct{}, 1)
	good := goodServer()
	good.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	web := serveHTTP(t, server.NewStreamableHTTPServer(good, server.WithStateful(true)))
	m := start(t, servers(overHTTP(web.URL)))
	failed := make(chan error, 1)
	go func() {
		_, err := m.Call(t.Context(), "web", "wait", nil)
		failed <- err
	}()
	<-entered
	web.CloseClientConnections()
	select {
	case err := <-failed:
		if !errors.Is(err, transport.ErrLost) || !strings.Contains(err.Error(), "check before repeating") {
			t.Errorf("got %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the call hangs")
	}
	// The server itself is alive: the connection is kept or made again.
	waitFor(t, "the server answers again", func() bool {
		result, err := m.Call(t.Context(), "web", "add", nil)
		return err == nil && string(result.Output) == `"0"`
	})
}

func TestHTTP_EndlessAnswer(t *testing.T) {
	real := server.NewStreamableHTTPServer(goodServer(), server.WithStateful(true))
	web := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"tools/call"`) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":3,"result":"`)
			for chunk := strings.Repeat("x", 1<<20); ; {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		real.ServeHTTP(w, r)
	}))
	m := start(t, servers(overHTTP(web.URL)))
	_, err := m.Call(t.Context(), "web", "add", nil)
	if err == nil || !strings.Contains(err.Error(), "longer than 16 MiB") {
		t.Errorf("got %v", err)
	}
}
