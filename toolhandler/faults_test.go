package toolhandler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molar/schemas"
	"molar/toolhandler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A call that fails at once, panics or is impossible does not affect the others: they run to
// their end, and all outcomes keep the order of the calls.
func TestTurn_Execute_oneFaultStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(ctx context.Context, _, name string, _ json.RawMessage) (schemas.ToolResult, error) {
			switch name {
			case "dies":
				return schemas.ToolResult{}, errors.New("server has stopped")
			case "panics":
				panic("boom")
			}
			select {
			case <-time.After(10 * time.Second):
				return schemas.ToolResult{Output: json.RawMessage(`1`)}, nil
			case <-ctx.Done():
				return schemas.ToolResult{}, ctx.Err()
			}
		})
		turn := h.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool("s", "dies", ""), tool("s", "panics", ""), tool("s", "works", "")}})
		start := time.Now()
		var got []string
		for _, o := range collect(t.Context(), turn,
			call("1", "works", ""), call("2", "dies", ""), call("3", "nope", ""), call("4", "panics", ""), call("5", "works", "")) {
			got = append(got, o.Result.ID+" "+string(o.Status))
		}
		want := []string{"1 ok", "2 failed", "3 unknown_tool", "4 failed", "5 ok"}
		if diff := cmp.Diff(want, got); diff != "" || time.Since(start) != 10*time.Second {
			t.Errorf("after %v (-want +got)\n%s", time.Since(start), diff)
		}
	})
}

// A call counts as sent unless its caller reports that nothing was sent, or a check stopped it.
func TestTurn_Execute_sent(t *testing.T) {
	h := newHandler(t, func(_ context.Context, _, name string, _ json.RawMessage) (schemas.ToolResult, error) {
		switch name {
		case "lost":
			return schemas.ToolResult{}, errors.New("the connection was lost")
		case "away":
			return schemas.ToolResult{}, fmt.Errorf("%w: it is not attached", toolhandler.ErrNotSent)
		case "panics":
			panic("boom")
		case "refuses":
			return schemas.ToolResult{IsError: true}, nil
		}
		return schemas.ToolResult{Output: json.RawMessage(`1`)}, nil
	})
	want := map[string]bool{"works": true, "refuses": true, "lost": true, "panics": true, "away": false, "unfit": false, "nope": false}
	var tools []schemas.Tool
	var calls []schemas.ToolCall
	for name := range want {
		if name != "nope" {
			tools = append(tools, tool("s", name, ""))
		}
		arguments := "{}"
		if name == "unfit" {
			arguments = "[]"
		}
		calls = append(calls, call(name, name, arguments))
	}
	got := map[string]bool{}
	for _, o := range collect(t.Context(), h.Begin(toolhandler.TurnConfig{Tools: tools}), calls...) {
		got[o.Call.ID] = o.Sent
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sent (-want +got)\n%s", diff)
	}
}

// If the consumer stops reading, running calls are cancelled and waited for.
func TestTurn_Execute_breakingOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := 0
		h := newHandler(t, func(ctx context.Context, _, name string, args json.RawMessage) (schemas.ToolResult, error) {
			if name == "quick" {
				return schemas.ToolResult{Output: args}, nil
			}
			<-ctx.Done()
			time.Sleep(time.Second) // a slow cleanup
			ended++
			return schemas.ToolResult{}, ctx.Err()
		})
		turn := h.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool("s", "quick", ""), tool("s", "slow", "")}})
		start := time.Now()
		for range turn.Execute(t.Context(), []schemas.ToolCall{call("1", "quick", ""), call("2", "slow", "")}) {
			break
		}
		if ended != 1 || time.Since(start) != time.Second {
			t.Errorf("%d calls ended after %v", ended, time.Since(start))
		}
	})
}

// Arguments are checked against the tool's own schema, with the digits of numbers, even if a
// model service would have been shown less of it.
func TestTurn_Execute_checksTheOriginalSchema(t *testing.T) {
	const schema = `{"type":"object","$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"},"id":{"type":"integer","maximum":9007199254740993}},"required":["id"]}},
		"properties":{"n":{"$ref":"#/$defs/N"},"kind":{"const":"a"},"name":{"type":"string","pattern":"^[a-z]+$","minLength":2},
		"pair":{"prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}},"additionalProperties":false}`
	s := tool("s", "t", schema)
	s.Rules.Policy = schemas.PolicyAllow
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{s}})
	for args, want := range map[string]toolhandler.Status{
		`{"n":{"id":9007199254740993}}`:              toolhandler.StatusOK,
		`{"n":{"id":9007199254740994}}`:              toolhandler.StatusInvalid,
		`{"n":{"id":1,"next":{"next":{"id":2}}}}`:    toolhandler.StatusInvalid,
		`{"n":{"id":1,"next":{"id":2,"next":null}}}`: toolhandler.StatusInvalid,
		`{"kind":"b"}`:       toolhandler.StatusInvalid,
		`{"name":"A"}`:       toolhandler.StatusInvalid,
		`{"pair":["a",1]}`:   toolhandler.StatusOK,
		`{"pair":["a",1,2]}`: toolhandler.StatusInvalid,
		`{"more":1}`:         toolhandler.StatusInvalid,
	} {
		o := collect(t.Context(), turn, call("1", "t", args))[0]
		if o.Status == toolhandler.StatusLimit {
			t.Fatal("the turn has too few calls for this test")
		}
		if o.Status != want || want == toolhandler.StatusOK && string(o.Result.Output) != args {
			t.Errorf("%s: %s %s, want %s", args, o.Status, o.Result.Output, want)
		}
	}
}
