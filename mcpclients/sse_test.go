package mcpclients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// overSSE returns the configuration of a server that speaks only the older transport.
func overSSE(url string) transport.ServerConfig {
	return transport.ServerConfig{Name: "web", URL: url + "/sse", Type: transport.TypeSSE}
}

func TestSSE_RealServer(t *testing.T) {
	real := goodServer()
	stopped := make(chan struct{})
	real.AddTool(mcp.NewTool("endless"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		stopped <- struct{}{}
		return nil, ctx.Err()
	})
	web := serveHTTP(t, server.NewSSEServer(real))
	for _, tc := range []struct{ name, kind string }{{"named", "sse"}, {"found out", "http"}, {"not named", ""}} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := overSSE(web.URL)
			cfg.Type = tc.kind
			m := start(t, servers(cfg))
			if st := status(t, m); st.State != schemas.StateReady || st.Tools != 4 || st.Transport != "sse" || st.Protocol != "2025-11-25" {
				t.Fatalf("%+v", st)
			}
			result, err := m.Call(t.Context(), "web", "add", json.RawMessage(`{"a":40,"b":2}`))
			if err != nil || string(result.Output) != `"42"` {
				t.Errorf("%s, %v", result.Output, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := m.Call(ctx, "web", "endless", nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			select {
			case <-stopped:
			case <-time.After(5 * time.Second):
				t.Error("the server was not told")
			}
		})
	}
	t.Run("a changed list is noticed", func(t *testing.T) {
		m := start(t, servers(overSSE(web.URL)))
		real.AddTool(mcp.NewTool("late"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("hello"), nil
		})
		waitFor(t, "the new tool is there", func() bool { _, ok := m.Catalogue().Lookup("web__late"); return ok })
	})
}

func TestSSE_DeathInMidCall(t *testing.T) {
	entered, release := make(chan struct{}, 2), make(chan struct{})
	good := goodServer()
	good.AddTool(mcp.NewTool("wait"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		entered <- struct{}{}
		<-release
		return mcp.NewToolResultText("for nobody"), nil
	})
	t.Cleanup(func() { close(release) })
	web := serveHTTP(t, server.NewSSEServer(good))
	m := start(t, servers(overSSE(web.URL)))
	failed := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := m.Call(t.Context(), "web", "wait", nil)
			failed <- err
		}()
		<-entered
	}
	began := time.Now()
	web.CloseClientConnections()
	for range 2 {
		if err := <-failed; !errors.Is(err, transport.ErrLost) || !strings.Contains(err.Error(), "check before repeating") {
			t.Errorf("got %v", err)
		}
	}
	t.Logf("two calls failed %s after the stream ended", time.Since(began))
	// The first new connection may be one that the server is just closing.
	waitFor(t, "the server answers again", func() bool {
		result, err := m.Call(t.Context(), "web", "add", nil)
		return err == nil && string(result.Output) == `"0"`
	})
}

// sseScript answers a GET with these events and accepts every POST.
func sseScript(events string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
}

func TestSSE_StartFailures(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler http.Handler
		want    string
	}{
		{"no stream there", http.NotFoundHandler(), "offers no event stream there"},
		{"a page", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }), "instead of an event stream"},
		{"wrong credentials", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }), "refused the credentials (HTTP 401)"},
		{"an endpoint elsewhere", sseScript("event: endpoint\ndata: http://other.example/message\n\n"), "endpoint on another host"},
		{"an endpoint by another scheme", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sseScript("event: endpoint\ndata: https://"+r.Host+"/message\n\n").ServeHTTP(w, r)
		}), "endpoint on another host"},
		{"no endpoint", sseScript(": hello\n\n"), "named no endpoint"},
		{"no answer", sseScript("event: endpoint\ndata: /m\n\n"), "initialize was not answered within 300ms"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			web := serveHTTP(t, tc.handler)
			cfg := servers(overSSE(web.URL))
			cfg.Servers[0].StartTimeout = 300 * time.Millisecond
			m := start(t, cfg)
			if st := status(t, m); st.State != schemas.StateFailed || !strings.Contains(st.Reason, tc.want) {
				t.Errorf("%s: %s", st.State, st.Reason)
			}
		})
	}
}

// questioning is a server over the older transport that sends a request of its own during a call, and
// answers the call with what it got.
func questioning(question string) http.Handler {
	events := make(chan string, 8)
	calls := make(chan json.RawMessage, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			for event := "event: endpoint\ndata: /m"; ; {
				_, _ = io.WriteString(w, event+"\n\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case event = <-events:
				case <-r.Context().Done():
					return
				}
			}
		}
		w.WriteHeader(http.StatusAccepted)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil {
			return
		}
		answer := func(result string) string {
			return fmt.Sprintf(`data: {"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}
		switch m.Method {
		case "initialize":
			events <- answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"q","version":"1"}}`)
		case "tools/list":
			events <- answer(`{"tools":[{"name":"book","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			calls <- m.ID
			events <- fmt.Sprintf(`data: {"jsonrpc":"2.0","id":%s,%s}`, m.ID, question) // its ids are not the host's
		case "": // the answer
			text, _ := json.Marshal(string(m.Result))
			m.ID = <-calls
			events <- answer(fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, text))
		}
	})
}

func TestSSE_AnswersAServer(t *testing.T) {
	for name, tc := range map[string]struct{ question, want string }{
		"a ping":     {`"method":"ping"`, `{}`},
		"a question": {`"method":"elicitation/create","params":{"message":"When?","requestedSchema":{"type":"object","properties":{"hour":{"type":"integer"}}}}`, `{"action":"accept","content":{"hour":14}}`},
	} {
		t.Run(name, func(t *testing.T) {
			web := serveHTTP(t, questioning(tc.question))
			m := answering(t, overSSE(web.URL), accept(map[string]json.RawMessage{"hour": json.RawMessage(`14`)}))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			result, err := m.Call(ctx, "web", "book", nil)
			if err != nil || string(result.Output) != tc.want {
				t.Errorf("%s, %v; want %s", result.Output, err, tc.want)
			}
		})
	}
}

func TestSSE_AHugeAnswerCostsOnlyItsCall(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow: it sends and reads 20 MiB")
	}
	good := goodServer()
	good.AddTool(mcp.NewTool("huge"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(strings.Repeat("x", 20<<20)), nil
	})
	web := serveHTTP(t, server.NewSSEServer(good))
	m := start(t, servers(overSSE(web.URL)))
	result, err := m.Call(t.Context(), "web", "huge", nil)
	if err != nil || !result.IsError || !strings.Contains(string(result.Output), "longer than 16 MiB") {
		t.Errorf("%.200s, %v", result.Output, err)
	}
	if result, err := m.Call(t.Context(), "web", "add", nil); err != nil || string(result.Output) != `"0"` {
		t.Errorf("%s, %v", result.Output, err)
	}
}

// plainServer returns a server that speaks JSON-RPC over POST /message, without a handshake.
func plainServer(t *testing.T, health int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(health) })
	mux.HandleFunc("POST /api/message", func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		switch call.Method {
		case "tools/list":
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"search_catalogue","inputSchema":{"type":"object"}}]}}`, call.ID)
		case "tools/call":
			text, _ := json.Marshal(string(call.Params))
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}],"isError":false}}`, call.ID, text)
		case "break":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, call.ID)
		}
	})
	return mux
}

func TestMessage(t *testing.T) {
	web := serveHTTP(t, plainServer(t, http.StatusOK))
	m := start(t, servers(transport.ServerConfig{Name: "sdi", URL: web.URL + "/api", Type: transport.TypeMessage}))
	if st := status(t, m); st.State != schemas.StateReady || st.Tools != 1 || st.Transport != "message" {
		t.Fatalf("%+v", st)
	}
	result, err := m.Call(t.Context(), "sdi", "search_catalogue", json.RawMessage(`{"query":"water quality"}`))
	if err != nil || string(result.Output) != `{"name":"search_catalogue","arguments":{"query":"water quality"}}` {
		t.Errorf("%s, %v", result.Output, err)
	}
	err = m.Request(t.Context(), "sdi", "other", nil, nil)
	if rpc, ok := errors.AsType[*transport.RPCError](err); !ok || rpc.Code != -32601 {
		t.Errorf("got %v", err)
	}
	if err := m.Request(t.Context(), "sdi", "break", nil, nil); !errors.Is(err, transport.ErrLost) {
		t.Errorf("got %v", err)
	}
}

func TestMessage_StartFailures(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler http.Handler
		want    string
	}{
		{"not well", plainServer(t, http.StatusServiceUnavailable), "its /health says so: the server answered HTTP 503"},
		{"not there", http.NotFoundHandler(), "HTTP 404 Not Found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			web := serveHTTP(t, tc.handler)
			m := start(t, servers(transport.ServerConfig{Name: "sdi", URL: web.URL + "/api", Type: transport.TypeMessage}))
			if st := status(t, m); st.State != schemas.StateFailed || !strings.Contains(st.Reason, tc.want) {
				t.Errorf("%s: %s", st.State, st.Reason)
			}
		})
	}
}

// A call whose answer is no JSON that can be read fails at once, as over stdio.
func TestSSE_UnreadableAnswer(t *testing.T) {
	answers := make(chan string, 10)
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"text" "text":"a colon is missing"}]}`,
	}
	web := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			_ = json.NewDecoder(r.Body).Decode(&m)
			w.WriteHeader(http.StatusAccepted)
			if m.ID != nil {
				answers <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, results[m.Method])
			}
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		answer := "/message"
		for name := "endpoint"; ; name = "message" {
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, answer)
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
			select {
			case answer = <-answers:
			case <-r.Context().Done():
				return
			}
		}
	}))
	m := start(t, servers(overSSE(web.URL)))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	result, err := m.Call(ctx, "web", "add", nil)
	if err != nil || !result.IsError || !strings.Contains(string(result.Output), "the answer is no JSON that can be read") {
		t.Errorf("%s, %v", result.Output, err)
	}
}
