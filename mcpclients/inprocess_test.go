package mcpclients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// handler answers in process: the handshake itself, other requests by the function.
type handler func(ctx context.Context, session, method string, params json.RawMessage) (result string)

func (h handler) Handle(ctx context.Context, session string, msg json.RawMessage) json.RawMessage {
	var r struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(msg, &r) != nil || r.ID == nil {
		return nil
	}
	result := ""
	switch r.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"experimental":{}},"serverInfo":{"name":"m","version":"1"}}`
	case "tools/list":
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no tools"}}`, r.ID)
	default:
		result = h(ctx, session, r.Method, r.Params)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
}

func inProcess(h handler) transport.ServerConfig {
	return transport.ServerConfig{Name: "memory-server", InProcess: h}
}

func TestInProcess(t *testing.T) {
	sessions := map[string]bool{}
	m := start(t, servers(inProcess(func(_ context.Context, session, method string, params json.RawMessage) string {
		sessions[session] = true
		if method == "memory/panic" {
			panic("oh no")
		}
		return `{"method":"` + method + `","params":` + string(params) + `,"big":9007199254740993}`
	})))
	if st := status(t, m); st.State != schemas.StateReady || st.Transport != "in-process" || st.Tools != 0 || st.Protocol != "2025-06-18" {
		t.Fatalf("%+v", st)
	}
	var got struct {
		Method string         `json:"method"`
		Params map[string]int `json:"params"`
		Big    int64          `json:"big"`
	}
	if err := m.Request(t.Context(), "memory-server", "memory/get", map[string]int{"n": 5}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Method != "memory/get" || got.Params["n"] != 5 || got.Big != 9007199254740993 || len(sessions) != 1 {
		t.Errorf("%+v, sessions %v", got, sessions)
	}
	if err := m.Request(t.Context(), "memory-server", "memory/panic", nil, nil); err == nil || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("got %v", err)
	}
}

// A server of the host itself is informed whose conversations a prompt may read; other servers
// get no data about people.
func TestInProcess_PromptOfAnOwner(t *testing.T) {
	asked := ""
	m := start(t, servers(inProcess(func(_ context.Context, _, _ string, params json.RawMessage) string {
		asked = string(params)
		return `{"messages":[{"role":"user","content":{"type":"text","text":"Sum it up."}}]}`
	})))
	if _, err := m.Prompt(t.Context(), schemas.Caller{}, "ann", "memory-server", "sum-up", nil); err != nil || asked != `{"name":"sum-up","owner":"ann"}` {
		t.Errorf("asked %s: %v", asked, err)
	}
}

func TestInProcess_BlockedHandler(t *testing.T) {
	m := start(t, servers(inProcess(func(ctx context.Context, _, _ string, _ json.RawMessage) string {
		<-ctx.Done()
		return `{}`
	})))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := m.Request(ctx, "memory-server", "memory/get", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkInProcess_Request shows the manager's cost in addition to the handler's, with an
// answer of 2 KiB.
func BenchmarkInProcess_Request(b *testing.B) {
	answer := `{"text":"` + strings.Repeat("x", 2<<10) + `"}`
	h := handler(func(context.Context, string, string, json.RawMessage) string { return answer })
	params := json.RawMessage(`{"conversation_id":"chat_1","max_messages":6}`)
	b.Run("handler", func(b *testing.B) {
		frame := json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"memory/get","params":` + string(params) + `}`)
		for b.Loop() {
			h.Handle(b.Context(), "s", frame)
		}
	})
	m, err := mcpclients.New(servers(inProcess(h)))
	if err != nil {
		b.Fatal(err)
	}
	m.Start(b.Context())
	if err := m.Wait(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.Close() })
	b.Run("manager", func(b *testing.B) {
		for b.Loop() {
			if err := m.Request(b.Context(), "memory-server", "memory/get", params, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("manager and decoding", func(b *testing.B) {
		for b.Loop() {
			var got struct{ Text string }
			if err := m.Request(b.Context(), "memory-server", "memory/get", params, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCatalogue_Lookup reads a snapshot of 1,000 tools.
func BenchmarkCatalogue_Lookup(b *testing.B) {
	m, err := mcpclients.New(servers(bad("s", "-tools=979")))
	if err != nil {
		b.Fatal(err)
	}
	m.Start(b.Context())
	if err := m.Wait(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.Close() })
	if n := len(m.Catalogue().Tools()); n != 1000 {
		b.Fatalf("%d tools", n)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := m.Catalogue().Lookup("s__extra_00500"); !ok {
			b.Fatal("not found")
		}
	}
}
