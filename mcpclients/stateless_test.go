package mcpclients_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/mcpclients/transport"
	"molar/schemas"
)

func TestProtocol_OverHTTP(t *testing.T) {
	modern := server.NewStreamableHTTPServer(goodServer(), server.WithStateful(true))
	older := server.NewStreamableHTTPServer(goodServer(), server.WithStateful(true),
		server.WithStreamableHTTPProtocolVersions("2025-06-18", "2025-03-26"))
	for _, tc := range []struct {
		name, protocol string
		handler        http.Handler
		want           string // the agreed revision, or a part of the error
	}{
		{"default", "", modern, "2026-07-28"},
		{"pinned to an older one", "2025-11-25", modern, "2025-11-25"},
		{"asked for by name", "2026-07-28", modern, "2026-07-28"},
		{"found out", "auto", modern, "2026-07-28"},
		{"a server with a handshake", "auto", older, "2025-11-25"},
		{"a server with a handshake that must have none", "2026-07-28", older, "set mcpServers.web.protocol: auto (or remove it)"},
		{"a server that nods at everything", "auto", emptyDiscover(goodServer()), "2025-11-25"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := overHTTP(serveHTTP(t, tc.handler).URL)
			cfg.Protocol = tc.protocol
			m := start(t, servers(cfg))
			st := status(t, m)
			if strings.HasPrefix(tc.want, "20") {
				if st.State != schemas.StateReady || st.Protocol != tc.want {
					t.Fatalf("%+v", st)
				}
				if result, err := m.Call(t.Context(), "web", "add", json.RawMessage(`{"a":1,"b":2}`)); err != nil || string(result.Output) != `"3"` {
					t.Errorf("%s, %v", result.Output, err)
				}
			} else if st.State != schemas.StateFailed || !strings.Contains(st.Reason, tc.want) {
				t.Errorf("%+v", st)
			}
		})
	}
}

// emptyDiscover answers server/discover with an empty object, and supports the handshake.
func emptyDiscover(s *server.MCPServer) http.Handler {
	inner := server.NewStreamableHTTPServer(s, server.WithStateful(true))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "server/discover") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		inner.ServeHTTP(w, r)
	})
}

func TestStateless_HeadersAndChanges(t *testing.T) {
	real := goodServer()
	real.AddTool(mcp.NewToolWithRawSchema("route", "", json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(r.Header.Get("Mcp-Param-Region")), nil
		})
	inner := server.NewStreamableHTTPServer(real)
	var mu sync.Mutex
	seen := map[string]bool{}
	web := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Method+" "+r.Header.Get("Mcp-Method")+" "+r.Header.Get("Mcp-Name")+" "+r.Header.Get("Mcp-Protocol-Version")] = true
		if r.Header.Get("Mcp-Session-Id") != "" {
			t.Error("a session was sent")
		}
		mu.Unlock()
		inner.ServeHTTP(w, r)
	}))
	cfg := overHTTP(web.URL)
	cfg.Protocol = transport.ProtocolStateless
	m := start(t, servers(cfg))
	result, err := m.Call(t.Context(), "web", "route", json.RawMessage(`{"region":"eu"}`))
	if err != nil || string(result.Output) != `"eu"` {
		t.Errorf("%s, %v", result.Output, err)
	}
	mu.Lock()
	for _, want := range []string{"POST server/discover  2026-07-28", "POST tools/list  2026-07-28", "POST tools/call route 2026-07-28"} {
		if !seen[want] {
			t.Errorf("%v lacks %q", seen, want)
		}
	}
	mu.Unlock()
	waitFor(t, "the subscription is there", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return seen["POST subscriptions/listen  2026-07-28"]
	})
	polls := 0
	waitFor(t, "the new tool is there", func() bool {
		if polls++; polls%50 == 1 { // the server may not have the subscription yet
			real.AddTool(mcp.NewTool("late"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText("hello"), nil
			})
		}
		_, ok := m.Catalogue().Lookup("web__late")
		return ok
	})
}

func TestProtocol_OverStdio(t *testing.T) {
	for _, tc := range []struct {
		name, protocol, flag, want string
	}{
		{"auto with a server that knows only the handshake", "auto", "-touchy", "2025-11-25"},
		{"auto with a server that nods at everything", "auto", "-empty", "2025-11-25"},
		{"auto with a server without a handshake", "auto", "-stateless", "2026-07-28"},
		{"a server without a handshake", "2026-07-28", "-stateless", "2026-07-28"},
		{"a server that nods at everything must be stateless", "2026-07-28", "-empty", "does not speak protocol 2026-07-28"},
		{"an older revision", "2024-11-05", "-version=2024-11-05", "2024-11-05"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := bad("s", tc.flag)
			cfg.Protocol = tc.protocol
			m := start(t, servers(cfg))
			st := status(t, m)
			if !strings.HasPrefix(tc.want, "20") {
				if st.State != schemas.StateFailed || !strings.Contains(st.Reason, tc.want) {
					t.Errorf("%+v", st)
				}
				return
			}
			if st.State != schemas.StateReady || st.Protocol != tc.want {
				t.Fatalf("%+v", st)
			}
			if result, err := m.Call(t.Context(), "s", "echo", json.RawMessage(`{"a":1}`)); err != nil || string(result.Output) != `{"a":1}` {
				t.Errorf("%s, %v", result.Output, err)
			}
		})
	}
}

// Without a handshake a server sends its log only where a request asks for it.
func TestStateless_News(t *testing.T) {
	heard := make(chan string, 2)
	s := server.NewMCPServer("telling", "1", server.WithToolCapabilities(true), server.WithLogging())
	s.AddTool(mcp.NewTool("tell"), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := s.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelWarning, "db", "slow")); err != nil {
			return nil, err
		}
		if err := s.SendNotificationToClient(ctx, "notifications/progress",
			map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": 1, "total": 2, "message": "half"}); err != nil {
			return nil, err
		}
		var texts []string
		for range 2 { // what is sent just before a result may be overtaken by it
			select {
			case one := <-heard:
				texts = append(texts, one)
			case <-time.After(5 * time.Second):
			}
		}
		slices.Sort(texts)
		return mcp.NewToolResultText(strings.Join(texts, ", ")), nil
	})
	m := start(t, servers(overHTTP(serveHTTP(t, server.NewStreamableHTTPServer(s)).URL)))
	if st := status(t, m); st.Protocol != transport.ProtocolStateless {
		t.Fatalf("%+v", st)
	}
	person := &schemas.Person{OnNews: func(n schemas.News) { heard <- n.Text }}
	if result, err := m.CallFor(t.Context(), person, "web", "tell", nil); err != nil || string(result.Output) != `"db: slow, half"` {
		t.Errorf("heard %s, %v", result.Output, err)
	}
}
