package toolhandler_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
	"molar/toolhandler"
)

// callerFunc is a Caller made from a function.
type callerFunc func(ctx context.Context, server, tool string, args json.RawMessage) (schemas.ToolResult, error)

func (f callerFunc) CallFor(ctx context.Context, _ *schemas.Person, server, tool string, args json.RawMessage) (schemas.ToolResult, error) {
	return f(ctx, server, tool, args)
}

// echo returns the arguments as the output.
func echo(_ context.Context, _, _ string, args json.RawMessage) (schemas.ToolResult, error) {
	return schemas.ToolResult{Output: args}, nil
}

const familySchema = `{"type":"object","properties":{"familyId":{"type":"string","format":"uuid"},"big":{"type":"integer"}},"required":["familyId"]}`

func tool(server, name, schema string) schemas.Tool {
	return schemas.Tool{ToolInfo: schemas.ToolInfo{
		Name: server + "__" + name, Server: server, ToolName: name, InputSchema: json.RawMessage(schema),
	}}
}

func call(id, name, args string) schemas.ToolCall {
	return schemas.ToolCall{ID: id, Function: schemas.FunctionCall{Name: name, Arguments: args}}
}

func newHandler(t *testing.T, c callerFunc) *toolhandler.Handler {
	t.Helper()
	h, err := toolhandler.New(toolhandler.Config{Caller: c})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func collect(ctx context.Context, turn *toolhandler.Turn, calls ...schemas.ToolCall) []toolhandler.Outcome {
	var outs []toolhandler.Outcome
	for o := range turn.Execute(ctx, calls) {
		outs = append(outs, o)
	}
	return outs
}

func TestHandler_New(t *testing.T) {
	for name, cfg := range map[string]toolhandler.Config{
		"no caller":         {},
		"negative parallel": {Caller: callerFunc(echo), Parallel: -1},
	} {
		if _, err := toolhandler.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Every failure becomes the result of its own call, with a text that the model can act on.
func TestTurn_Execute_failures(t *testing.T) {
	family := tool("family", "get_family_details", familySchema)
	denied := tool("family", "drop", `{"type":"object"}`)
	denied.Rules.Policy = schemas.PolicyDeny
	broken := tool("family", "broken", `7`)
	failing := callerFunc(func(_ context.Context, _, name string, _ json.RawMessage) (schemas.ToolResult, error) {
		switch name {
		case "broken":
			panic("must not be reached")
		case "panics":
			panic("boom")
		case "dead":
			return schemas.ToolResult{}, errors.New(`server "family" has stopped`)
		}
		return schemas.ToolResult{Output: json.RawMessage(`"no such family"`), IsError: true}, nil
	})
	tests := []struct {
		name, tool, args string
		status           toolhandler.Status
		says             string
	}{
		{"unknown tool", "family__nope", `{}`, toolhandler.StatusUnknown, "family__get_family_details"},
		{"broken JSON", "family__get_family_details", `{"familyId":`, toolhandler.StatusInvalid, "not a JSON object"},
		{"duplicate key", "family__get_family_details", `{"familyId":"a","familyId":"b"}`, toolhandler.StatusInvalid, "twice"},
		{"no object", "family__get_family_details", `[1]`, toolhandler.StatusInvalid, "not a JSON object"},
		{"missing argument", "family__get_family_details", `{}`, toolhandler.StatusInvalid, "familyId"},
		{"wrong type", "family__get_family_details", `{"familyId":7}`, toolhandler.StatusInvalid, "/familyId"},
		{"schema that is none", "family__broken", `{}`, toolhandler.StatusInvalid, "the schema itself cannot be used"},
		{"denied", "family__drop", `{}`, toolhandler.StatusRefused, "may not be called"},
		{"dead server", "family__dead", `{}`, toolhandler.StatusFailed, "has stopped"},
		{"panic", "family__panics", `{}`, toolhandler.StatusFailed, "do not call it again"},
		{"tool error", "family__fails", `{}`, toolhandler.StatusToolError, "no such family"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turn := newHandler(t, failing).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{
				family, denied, broken,
				tool("family", "dead", ""), tool("family", "panics", ""), tool("family", "fails", ""),
			}})
			outs := collect(t.Context(), turn, call("id-1", tt.tool, tt.args))
			if len(outs) != 1 {
				t.Fatalf("%d outcomes for one call", len(outs))
			}
			o := outs[0]
			if o.Status != tt.status || !o.Result.IsError || o.Result.ID != "id-1" {
				t.Errorf("status %q, isError %v, id %q; want %q, true, id-1", o.Status, o.Result.IsError, o.Result.ID, tt.status)
			}
			if !strings.Contains(o.Result.OutputText(), tt.says) {
				t.Errorf("result %q does not say %q", o.Result.OutputText(), tt.says)
			}
		})
	}
}

func TestTurn_Execute_keepsDigitsAndFindsNames(t *testing.T) {
	args := `{"familyId":"1a955fff-ce01-422f-8bb3-02ab14e8ec47","big":9007199254740993}`
	for _, name := range []string{"family__get", "get", "default_api.family__get", "default_api:get"} {
		turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool("family", "get", familySchema)}})
		o := collect(t.Context(), turn, call("a", name, args))[0]
		if o.Status != toolhandler.StatusOK || string(o.Result.Output) != args {
			t.Errorf("%s: %s %s", name, o.Status, o.Result.Output)
		}
		if o.Result.ToolName != "get" || o.Result.Server != "family" {
			t.Errorf("%s: result of %q on %q", name, o.Result.ToolName, o.Result.Server)
		}
	}
}

// Four calls of 300 ms run concurrently; outcomes come in call order.
func TestTurn_Execute_parallelInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		h := newHandler(t, func(_ context.Context, _, _ string, args json.RawMessage) (schemas.ToolResult, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(300 * time.Millisecond)
			return schemas.ToolResult{Output: args}, nil
		})
		turn := h.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool("s", "t", "")}})
		start := time.Now()
		var order []string
		for _, o := range collect(t.Context(), turn,
			call("1", "t", `{"n":1}`), call("2", "t", `{"n":2}`), call("3", "t", `{"n":3}`), call("4", "t", `{"n":4}`), call("5", "t", `{"n":5}`)) {
			order = append(order, o.Call.ID+string(o.Result.Output))
		}
		want := []string{`1{"n":1}`, `2{"n":2}`, `3{"n":3}`, `4{"n":4}`, `5{"n":5}`}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Error(diff)
		}
		if took := time.Since(start); took != 600*time.Millisecond || most.Load() != 4 {
			t.Errorf("took %v with %d at once, want 600ms with 4", took, most.Load())
		}
	})
}

func TestTurn_Execute_timeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(ctx context.Context, _, _ string, _ json.RawMessage) (schemas.ToolResult, error) {
			<-ctx.Done()
			return schemas.ToolResult{}, ctx.Err()
		})
		quick := tool("s", "quick", "")
		quick.Rules.Timeout = 2 * time.Second
		turn := h.Begin(toolhandler.TurnConfig{
			Tools:  []schemas.Tool{quick, tool("s", "slow", "")},
			Limits: toolhandler.Limits{Time: 70 * time.Second},
		})
		start := time.Now()
		for i, want := range []time.Duration{2 * time.Second, 62 * time.Second, 70 * time.Second} {
			name := "slow"
			if i == 0 {
				name = "quick"
			}
			o := collect(t.Context(), turn, call("x", name, "{}"))[0]
			if o.Status != toolhandler.StatusTimeout || time.Since(start) != want {
				t.Errorf("call %d: %s after %v, want timeout after %v", i, o.Status, time.Since(start), want)
			}
		}
		if turn.Exhausted() == "" {
			t.Error("the time for tools is used up, and the turn does not say so")
		}
	})
}

func TestTurn_Execute_callLimit(t *testing.T) {
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{
		Tools: []schemas.Tool{tool("s", "t", "")}, Limits: toolhandler.Limits{Calls: 2},
	})
	outs := collect(t.Context(), turn, call("1", "t", ""), call("2", "t", ""), call("3", "t", ""))
	got := []toolhandler.Status{outs[0].Status, outs[1].Status, outs[2].Status}
	want := []toolhandler.Status{toolhandler.StatusOK, toolhandler.StatusOK, toolhandler.StatusLimit}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if turn.Exhausted() == "" {
		t.Error("the turn does not say that its calls are used up")
	}
}

func TestTurn_Execute_cancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		h := newHandler(t, func(ctx context.Context, _, _ string, _ json.RawMessage) (schemas.ToolResult, error) {
			<-ctx.Done()
			ended.Add(1)
			return schemas.ToolResult{}, ctx.Err()
		})
		turn := h.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool("s", "t", "")}})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		outs := collect(ctx, turn, call("1", "t", ""), call("2", "t", ""))
		if len(outs) != 2 || ended.Load() != 2 {
			t.Errorf("%d outcomes, %d calls ended; want 2 and 2", len(outs), ended.Load())
		}
	})
}
