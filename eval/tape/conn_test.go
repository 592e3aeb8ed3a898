package tape_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval/tape"
	"molar/mcpclients/transport"
	"molar/schemas"
	"molar/toolhandler"
)

// numberingServer is a server that numbers its answers.
type numberingServer struct {
	transport.Conn
	calls chan int
}

func (a *numberingServer) Request(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
	if method == "boom" {
		return nil, &transport.RPCError{Code: -32000, Message: "no"}
	}
	return json.RawMessage(fmt.Sprintf(`{"n":%d}`, <-a.calls)), nil
}

func (a *numberingServer) Close() error { return nil }

func dialTo(c transport.Conn) transport.Dialer {
	return func(context.Context, transport.ServerConfig, transport.Notify) (transport.Conn, error) {
		return c, nil
	}
}

func noDial(t *testing.T) transport.Dialer {
	t.Helper()
	return func(context.Context, transport.ServerConfig, transport.Notify) (transport.Conn, error) {
		t.Error("a replay reached a server")
		return nil, errors.New("no server")
	}
}

func connect(t *testing.T, d transport.Dialer) transport.Conn {
	t.Helper()
	conn, err := d(t.Context(), transport.ServerConfig{Name: "s"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// recordCalls records a server that is called with the given params, in order.
func recordCalls(t *testing.T, params ...string) []byte {
	t.Helper()
	rec, b := record(t)
	calls := make(chan int, len(params))
	for i := range params {
		calls <- i + 1
	}
	conn := connect(t, rec.Dial(dialTo(&numberingServer{calls: calls})))
	for _, p := range params {
		if _, err := conn.Request(tape.InTurn(t.Context(), 1), "tools/call", json.RawMessage(p)); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = conn.Request(t.Context(), "boom", nil)
	return b.Bytes()
}

func TestConn(t *testing.T) {
	data := recordCalls(t, `{"name":"f","arguments":{"a":1,"b":2}}`, `{"name":"f","arguments":{"a":1,"b":2}}`, `{"name":"f","arguments":{"a":3}}`)
	p := play(t, data, nil)
	conn := connect(t, p.Dial(noDial(t)))
	for _, test := range []struct{ params, want string }{
		{`{"name":"f","arguments":{"a":3}}`, `{"n":3}`},
		{`{"name":"f","arguments":{"b":2,"a":1.0},"_meta":{"progressToken":9}}`, `replay`}, // the texts 1.0 and 1 differ
		{`{"name":"f","arguments":{"b":2,"a":1},"_meta":{"progressToken":9}}`, `{"n":1}`},
		{`{"name":"f","arguments":{"a":1,"b":2}}`, `{"n":2}`},
		{`{"name":"f","arguments":{"a":1,"b":2}}`, `replay`},
	} {
		got, err := conn.Request(tape.InTurn(t.Context(), 1), "tools/call", json.RawMessage(test.params))
		if err != nil || !strings.Contains(string(got), test.want) {
			t.Errorf("%s gave %s (%v), want %s", test.params, got, err, test.want)
		}
	}
	if got, err := conn.Request(t.Context(), "ping", nil); err != nil || string(got) != "{}" {
		t.Errorf("ping gave %s (%v)", got, err)
	}
	if _, err := conn.Request(t.Context(), "boom", nil); err == nil {
		t.Error("a recorded error became a result")
	}
	causes, follows := p.Finish()
	var classes []string
	for _, d := range append(causes, follows...) {
		classes = append(classes, d.Class)
	}
	if diff := cmp.Diff([]string{tape.CallArgs, tape.CallExtra}, classes); diff != "" {
		t.Error(diff)
	}
}

// callerOf calls a connection for the tool handler.
type callerOf struct{ conn transport.Conn }

func (c callerOf) CallFor(ctx context.Context, _ *schemas.Person, server, tool string, args json.RawMessage) (schemas.ToolResult, error) {
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return schemas.ToolResult{}, err
	}
	out, err := c.conn.Request(tape.InTurn(ctx, 1), "tools/call", params)
	return schemas.ToolResult{Output: out, Server: server, ToolName: tool}, err
}

// TestEqualCalls makes equal calls in parallel: in every replay each gets the result that it got
// in the recording.
func TestEqualCalls(t *testing.T) {
	const n = 4
	execute := func(conn transport.Conn) []string {
		handler, err := toolhandler.New(toolhandler.Config{Caller: callerOf{conn}, Parallel: n})
		if err != nil {
			t.Fatal(err)
		}
		tool := schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "s__f", Server: "s", ToolName: "f"}, Rules: schemas.ToolRules{Policy: schemas.PolicyAllow}}
		var calls []schemas.ToolCall
		for i := range n {
			calls = append(calls, schemas.ToolCall{ID: fmt.Sprint(i), Function: schemas.FunctionCall{Name: "s__f", Arguments: "{}"}})
		}
		var results []string
		for out := range handler.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}}).Execute(t.Context(), calls) {
			results = append(results, string(out.Result.Output))
		}
		return results
	}
	rec, b := record(t)
	numbers := make(chan int, n)
	for i := range n {
		numbers <- i + 1
	}
	want := execute(connect(t, rec.Dial(dialTo(&numberingServer{calls: numbers}))))
	for range 20 {
		p := play(t, b.Bytes(), nil)
		if diff := cmp.Diff(want, execute(connect(t, p.Dial(noDial(t))))); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestLiveTools_compares(t *testing.T) {
	data := recordCalls(t, `{"name":"f","arguments":{}}`)
	p := play(t, data, func(c *tape.PlayerConfig) { c.LiveTools = true })
	calls := make(chan int, 1)
	calls <- 7
	conn := connect(t, p.Dial(dialTo(&numberingServer{calls: calls})))
	got, err := conn.Request(tape.InTurn(t.Context(), 1), "tools/call", json.RawMessage(`{"name":"f","arguments":{}}`))
	if err != nil || string(got) != `{"n":7}` {
		t.Errorf("gave %s (%v), want the live result", got, err)
	}
	if causes, _ := p.Finish(); len(causes) != 1 || causes[0].Class != tape.Result {
		t.Errorf("drift %+v", causes)
	}
}

func TestFaults(t *testing.T) {
	data := recordCalls(t, `{"name":"f","arguments":{}}`)
	for _, test := range []struct {
		fault  string
		result string
		err    error
	}{
		{"tool:s__f=error", "isError", nil},
		{"tool:s__*=empty", `"content":[]`, nil},
		{"tool:*=inject", tape.InjectedOrder, nil},
		{"tool:s__f=timeout", "", context.DeadlineExceeded},
		{"tool:s__g=error", `{"n":1}`, nil}, // another tool
	} {
		t.Run(test.fault, func(t *testing.T) {
			f, err := tape.ParseFault(test.fault)
			if err != nil {
				t.Fatal(err)
			}
			p := play(t, data, func(c *tape.PlayerConfig) { c.Faults = []tape.Fault{f} })
			conn := connect(t, p.Dial(noDial(t)))
			got, err := conn.Request(tape.InTurn(t.Context(), 1), "tools/call", json.RawMessage(`{"name":"f","arguments":{}}`))
			if !errors.Is(err, test.err) || !strings.Contains(string(got), test.result) {
				t.Errorf("gave %s (%v), want %q (%v)", got, err, test.result, test.err)
			}
			if other := strings.Contains(test.fault, "s__g"); p.Faulted() == other {
				t.Errorf("it hit something: %v", !other)
			}
		})
	}
	for _, text := range []string{"", "tool", "tool:=error", "model:x=error", "tool:x", "tool:x=explode", "tool:x=error#2", "tool:[=error"} {
		if _, err := tape.ParseFault(text); err == nil {
			t.Errorf("fault %q is taken", text)
		}
	}
}
