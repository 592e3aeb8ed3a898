package toolhandler_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"molar/schemas"
	"molar/toolhandler"
)

// counting counts the calls that reach a server, and fails them while failing is set.
type counting struct {
	calls   atomic.Int64
	failing bool
}

func (c *counting) call(_ context.Context, _, _ string, _ json.RawMessage) (schemas.ToolResult, error) {
	n := c.calls.Add(1)
	return schemas.ToolResult{Output: json.RawMessage(`{"n":` + string('0'+rune(n)) + `}`), IsError: c.failing}, nil
}

// The same call of a reader is a repeat while nothing can have changed: it is not executed, and the
// third one ends the tool rounds.
func TestTurn_repeats(t *testing.T) {
	get := func(args string) schemas.ToolCall { return call("x", "shop__get_price", args) }
	type step struct {
		call schemas.ToolCall
		wait time.Duration
		want toolhandler.Status
	}
	const ok, repeated = toolhandler.StatusOK, toolhandler.StatusRepeated
	for name, tt := range map[string]struct {
		steps  []step
		calls  int64
		ended  bool
		change func(tools []schemas.Tool, c *counting)
	}{
		"twice":                 {[]step{{get(`{"a":1,"b":2}`), 0, ok}, {get(`{"b":2, "a":1}`), 0, repeated}}, 1, false, nil},
		"three times":           {[]step{{get(`{}`), 0, ok}, {get(``), 0, repeated}, {get(`{}`), 0, repeated}}, 1, true, nil},
		"other arguments":       {[]step{{get(`{"a":9007199254740993}`), 0, ok}, {get(`{"a":9007199254740992}`), 0, ok}}, 2, false, nil},
		"another between":       {[]step{{get(`{}`), 0, ok}, {call("y", "shop__get_stock", `{}`), 0, ok}, {get(`{}`), 0, repeated}}, 2, false, nil},
		"a change between":      {[]step{{get(`{}`), 0, ok}, {call("y", "shop__put_price", `{}`), 0, ok}, {get(`{}`), 0, ok}}, 3, false, nil},
		"a write is no repeat":  {[]step{{call("y", "shop__put_price", `{}`), 0, ok}, {call("y", "shop__put_price", `{}`), 0, ok}}, 2, false, nil},
		"within ten seconds":    {[]step{{get(`{}`), 0, ok}, {get(`{}`), 9 * time.Second, repeated}, {get(`{}`), 9 * time.Second, repeated}}, 1, true, nil},
		"after ten seconds":     {[]step{{get(`{}`), 0, ok}, {get(`{}`), 10 * time.Second, ok}, {get(`{}`), 0, repeated}}, 2, false, nil},
		"a tool that is polled": {[]step{{get(`{}`), 0, ok}, {get(`{}`), 0, ok}, {get(`{}`), 0, ok}}, 3, false, func(tools []schemas.Tool, _ *counting) { tools[0].Rules.Poll = true }},
		"one that failed":       {[]step{{get(`{}`), 0, toolhandler.StatusToolError}, {get(`{}`), 0, toolhandler.StatusToolError}}, 2, false, func(_ []schemas.Tool, c *counting) { c.failing = true }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &counting{}
				tools := []schemas.Tool{tool("shop", "get_price", schema(`a {"type":"integer"}`, `b {"type":"integer"}`)), tool("shop", "get_stock", ""), tool("shop", "put_price", "")}
				tools[0].Rules.Marks.Closed, tools[2].Rules.Policy = true, schemas.PolicyAllow
				if tt.change != nil {
					tt.change(tools, c)
				}
				turn := newHandler(t, c.call).Begin(toolhandler.TurnConfig{Tools: tools})
				for i, s := range tt.steps {
					time.Sleep(s.wait)
					o := collect(t.Context(), turn, s.call)[0]
					if o.Status != s.want || o.Result.ID != s.call.ID {
						t.Errorf("step %d: %s %s", i, o.Status, o.Result.Output)
					}
					if text := o.Result.OutputText(); (o.Status == repeated) != strings.Contains(text, "made before") || o.Status == repeated && (strings.HasPrefix(text, `{"n":`) == (turn.Exhausted() != "") || o.Result.IsError || o.Sent) {
						t.Errorf("step %d gave %s", i, text)
					}
				}
				if c.calls.Load() != tt.calls || (turn.Exhausted() != "") != tt.ended {
					t.Errorf("%d calls, %q", c.calls.Load(), turn.Exhausted())
				}
			})
		})
	}
}

// Equal calls of one answer are executed once, unless the answer has a call that may change
// something.
func TestTurn_repeatsInOneAnswer(t *testing.T) {
	get, put := call("1", "shop__get_price", `{}`), call("2", "shop__put_price", `{}`)
	for name, tt := range map[string]struct {
		calls []schemas.ToolCall
		want  int64
	}{"reads": {[]schemas.ToolCall{get, get}, 1}, "with a write": {[]schemas.ToolCall{get, put, get}, 3}} {
		c := &counting{}
		tools := []schemas.Tool{tool("shop", "get_price", schema(`a {"type":"integer"}`, `b {"type":"integer"}`)), tool("shop", "put_price", "")}
		tools[1].Rules.Policy = schemas.PolicyAllow
		turn := newHandler(t, c.call).Begin(toolhandler.TurnConfig{Tools: tools})
		if outs := collect(t.Context(), turn, tt.calls...); len(outs) != len(tt.calls) || c.calls.Load() != tt.want {
			t.Errorf("%s: %d outcomes of %d calls", name, len(outs), c.calls.Load())
		}
	}
}
