package mcpservers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"molar/mcpservers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer returns a dispatcher whose tools and methods cover everything that a handler can do.
func newServer(t testing.TB) *mcpservers.Dispatcher {
	t.Helper()
	s := server.NewMCPServer("test-server", "1.2.3", server.WithToolCapabilities(false))
	tools := map[string]server.ToolHandlerFunc{
		"good": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("fine"), nil
		},
		"bad": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("no luck")
		},
		"panic": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("inner secret") },
		"nil":   func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil },
		"wait": func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	for name, handler := range tools {
		s.AddTool(mcp.NewToolWithRawSchema(name, "", json.RawMessage(`{"type":"object"}`)), handler)
	}
	d, err := mcpservers.New(mcpservers.Config{Name: "test-server", Version: "1.2.3", MCP: s, Methods: map[string]mcpservers.Method{
		"x/echo": func(_ context.Context, params json.RawMessage) (any, error) {
			var p struct {
				Text string `json:"text"`
			}
			err := mcpservers.DecodeParams(params, &p)
			return p, err
		},
		"x/own": func(context.Context, json.RawMessage) (any, error) {
			return nil, &mcpservers.RPCError{Code: mcpservers.CodeToolFailed, Message: "own words", Data: []int{1}}
		},
		"x/fail":  func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("disk gone") },
		"x/hide":  func(context.Context, json.RawMessage) (any, error) { return nil, fmt.Errorf("read: %w", hidden{}) },
		"x/panic": func(context.Context, json.RawMessage) (any, error) { panic("inner secret") },
		"x/odd":   func(context.Context, json.RawMessage) (any, error) { return func() {}, nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// hidden is an error whose text clients must not see.
type hidden struct{}

func (hidden) Error() string  { return "postgres://inner@host is away" }
func (hidden) Public() string { return "it is away" }

// sameJSON compares two JSON texts by value, with numbers as written.
func sameJSON(t *testing.T, got json.RawMessage, want string) {
	t.Helper()
	if want == "" {
		if got != nil {
			t.Errorf("answered %s, want nothing", got)
		}
		return
	}
	var g, w any
	if err := decode(got, &g); err != nil {
		t.Fatalf("answer %q: %v", got, err)
	}
	if err := decode([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func decode(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(v)
}

func TestDispatcher_Handle(t *testing.T) {
	d := newServer(t)
	for name, c := range map[string]struct{ msg, want string }{
		"a method":     {`{"jsonrpc":"2.0","method":"x/echo","params":{"text":"ă"},"id":1}`, `{"jsonrpc":"2.0","result":{"text":"ă"},"id":1}`},
		"no params":    {`{"jsonrpc":"2.0","method":"x/echo","id":"a"}`, `{"jsonrpc":"2.0","result":{"text":""},"id":"a"}`},
		"null params":  {`{"jsonrpc":"2.0","method":"x/echo","params":null,"id":"a"}`, `{"jsonrpc":"2.0","result":{"text":""},"id":"a"}`},
		"a null id":    {`{"jsonrpc":"2.0","method":"x/echo","id":null}`, `{"jsonrpc":"2.0","result":{"text":""},"id":null}`},
		"no id":        {`{"jsonrpc":"2.0","method":"x/echo"}`, ""},
		"no id, fails": {`{"jsonrpc":"2.0","method":"x/panic"}`, ""},
		"wrong type": {
			`{"jsonrpc":"2.0","method":"x/echo","params":{"text":1},"id":1}`,
			`{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params: text cannot be a number"},"id":1}`,
		},
		"another case": {
			`{"jsonrpc":"2.0","method":"x/echo","params":{"Text":"a"},"id":1}`,
			`{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params: unknown parameter \"Text\""},"id":1}`,
		},
		"params in a list": {
			`{"jsonrpc":"2.0","method":"x/echo","params":["a"],"id":1}`,
			`{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params: an object is needed"},"id":1}`,
		},
		"own error": {
			`{"jsonrpc":"2.0","method":"x/own","id":1}`,
			`{"jsonrpc":"2.0","error":{"code":-32002,"message":"own words","data":[1]},"id":1}`,
		},
		"other error": {
			`{"jsonrpc":"2.0","method":"x/fail","id":1}`,
			`{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal server error: disk gone"},"id":1}`,
		},
		"an error with a text for clients": {
			`{"jsonrpc":"2.0","method":"x/hide","id":1}`,
			`{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal server error: it is away"},"id":1}`,
		},
		"a panic": {
			`{"jsonrpc":"2.0","method":"x/panic","id":1}`,
			`{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal server error: the method broke off, see the server's log"},"id":1}`,
		},
		"a result that is no JSON": {
			`{"jsonrpc":"2.0","method":"x/odd","id":1}`,
			`{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal server error: the answer cannot be encoded"},"id":1}`,
		},
		"an unknown method": {
			`{"jsonrpc":"2.0","method":"unknown/method","id":null}`,
			`{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method 'unknown/method' not found on server 'test-server'"},"id":null}`,
		},
		"an answer of the client": {`{"jsonrpc":"2.0","result":{},"id":1}`, ""},
		"ping":                    {`{"jsonrpc":"2.0","method":"ping","id":9007199254740993}`, `{"jsonrpc":"2.0","result":{},"id":9007199254740993}`},
		"ping with a null id":     {`{"jsonrpc":"2.0","method":"ping","id":null}`, `{"jsonrpc":"2.0","result":{},"id":null}`},
		"initialized":             {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		"a tool": {
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"good","arguments":{}},"id":1}`,
			`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"fine"}]},"id":1}`,
		},
		"a tool that fails": {
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"bad"},"id":1}`,
			`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"no luck"}],"isError":true},"id":1}`,
		},
		"a tool that panics": {
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"panic"},"id":1}`,
			`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"tool \"panic\" broke off"}],"isError":true},"id":1}`,
		},
		"a tool without a result": {
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"nil"},"id":1}`,
			`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"tool \"nil\" gave no result"}],"isError":true},"id":1}`,
		},
	} {
		t.Run(name, func(t *testing.T) { sameJSON(t, d.Handle(t.Context(), "s", json.RawMessage(c.msg)), c.want) })
	}
}

func TestDispatcher_HandleBadMessages(t *testing.T) {
	d := newServer(t)
	for name, c := range map[string]struct {
		msg  string
		code int
		id   string
	}{
		"nothing":               {``, mcpservers.CodeParse, "null"},
		"cut":                   {`{"jsonrpc":"2.0","method":"ping","id":1`, mcpservers.CodeParse, "null"},
		"two values":            {`{"jsonrpc":"2.0","method":"ping","id":1}{}`, mcpservers.CodeParse, "null"},
		"a key twice":           {`{"jsonrpc":"2.0","method":"ping","method":"tools/list","id":1}`, mcpservers.CodeParse, "null"},
		"a key twice but case":  {`{"jsonrpc":"2.0","method":"ping","Method":"tools/list","id":1}`, mcpservers.CodeParse, "null"},
		"deep":                  {strings.Repeat("[", 10000), mcpservers.CodeParse, "null"},
		"NUL in a key":          {`{"jsonrpc":"2.0","method":"x/echo","params":{"a\u0000":1},"id":1}`, mcpservers.CodeParse, "null"},
		"invalid UTF-8":         {"\"\xff\"", mcpservers.CodeParse, "null"},
		"a batch":               {`[{"jsonrpc":"2.0","method":"ping","id":1}]`, mcpservers.CodeInvalidRequest, "null"},
		"a string":              {`"ping"`, mcpservers.CodeInvalidRequest, "null"},
		"null":                  {`null`, mcpservers.CodeInvalidRequest, "null"},
		"empty":                 {`{}`, mcpservers.CodeInvalidRequest, "null"},
		"only another case":     {`{"jsonrpc":"2.0","Method":"ping","id":1}`, mcpservers.CodeInvalidRequest, "1"},
		"another version":       {`{"jsonrpc":"1.0","method":"ping","id":1}`, mcpservers.CodeInvalidRequest, "1"},
		"no version":            {`{"method":"ping","id":1}`, mcpservers.CodeInvalidRequest, "1"},
		"a number for a method": {`{"jsonrpc":"2.0","method":1,"id":1}`, mcpservers.CodeInvalidRequest, "1"},
		"an object for an id":   {`{"jsonrpc":"2.0","method":"ping","id":{}}`, mcpservers.CodeInvalidRequest, "null"},
		"a string for params":   {`{"jsonrpc":"2.0","method":"x/echo","params":"a","id":2}`, mcpservers.CodeInvalidRequest, "2"},
		"an unknown tool":       {`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"none"},"id":1}`, mcpservers.CodeInvalidParams, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := d.Handle(t.Context(), "s", json.RawMessage(c.msg))
			var answer struct {
				ID    json.RawMessage `json:"id"`
				Error struct {
					Code    int    `json:"code"`
					Message string `json:"message"`
				} `json:"error"`
			}
			if err := json.Unmarshal(got, &answer); err != nil {
				t.Fatalf("%q: %v", got, err)
			}
			if answer.Error.Code != c.code || answer.Error.Message == "" || string(answer.ID) != c.id {
				t.Errorf("answer %s, want code %d and id %s", got, c.code, c.id)
			}
		})
	}
}

func TestDispatcher_AnnouncesItsMethods(t *testing.T) {
	got := newServer(t).Handle(t.Context(), "s", json.RawMessage(`{"jsonrpc":"2.0","id":0,"method":"initialize",
		"params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
	sameJSON(t, got, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25",
		"serverInfo":{"name":"test-server","version":"1.2.3"},
		"capabilities":{"tools":{},"experimental":{"x/echo":{},"x/own":{},"x/fail":{},"x/hide":{},"x/panic":{},"x/odd":{}}}}}`)
}

// A cancel notification must reach the request of the same session, and no other's.
func TestDispatcher_CancelsWithinASession(t *testing.T) {
	d := newServer(t)
	call := json.RawMessage(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait"}}`)
	cancel := json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	done := make(chan json.RawMessage)
	go func() { done <- d.Handle(t.Context(), "one", call) }()
	for {
		d.Handle(t.Context(), "two", cancel)
		d.Handle(t.Context(), "one", cancel) // until the call has begun
		select {
		case got := <-done:
			if !strings.Contains(string(got), `"isError":true`) {
				t.Errorf("answer %s", got)
			}
			return
		default:
		}
	}
}

func TestNew_Refuses(t *testing.T) {
	for name, cfg := range map[string]mcpservers.Config{
		"no name":                   {},
		"a method without function": {Name: "a", Methods: map[string]mcpservers.Method{"b": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := mcpservers.New(cfg); err == nil {
				t.Error("made")
			}
		})
	}
}

func TestDispatcher_WithoutMCP(t *testing.T) {
	d, err := mcpservers.New(mcpservers.Config{Name: "empty"})
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, d.Handle(t.Context(), "", json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)),
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`)
}

func FuzzDispatcher_Handle(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `null`, `{"jsonrpc":"2.0","method":"ping","id":1}`, `{"jsonrpc":"2.0","method":"ping","id":null}`,
		`{"jsonrpc":"2.0","method":"x/echo","params":{"text":"a"},"id":"x"}`, `{"jsonrpc":"2.0","method":"x/panic","id":-1.5e3}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"bad","arguments":[]},"id":1}`,
		`{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":1},"id":1}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","method":"tools/list","params":{"cursor":"!"},"id":1}`,
		`{"jsonrpc":"2.0","method":"tools/list","params":[],"id":1}`, `{"jsonrpc":"2.0","error":{},"id":1}`,
	} {
		f.Add([]byte(seed))
	}
	d := newServer(f)
	f.Fuzz(func(t *testing.T, msg []byte) {
		if strings.Contains(string(msg), "wait") {
			return // the waiting tool would block
		}
		answer := d.Handle(t.Context(), "fuzz", msg)
		if answer == nil {
			return
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(answer, &fields); err != nil {
			t.Fatalf("answer %q: %v", answer, err)
		}
		_, result := fields["result"]
		_, failed := fields["error"]
		if string(fields["jsonrpc"]) != `"2.0"` || fields["id"] == nil || result == failed {
			t.Errorf("answer %s", answer)
		}
	})
}
