package responses_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
)

// callFirst calls the client's first tool, unless the turn has its result.
func callFirst(_ context.Context, t agent.Turn, say func(answer.Event) bool) error {
	if len(t.Results) > 0 || len(t.ClientTools) == 0 {
		say(text("ok"))
		say(done())
		return nil
	}
	calls := []schemas.ToolCall{{ID: "call_1", Function: schemas.FunctionCall{Name: t.ClientTools[0].Name, Arguments: `{}`}}}
	say(answer.Event{Kind: answer.KindClientCalls, Calls: calls})
	say(ended(answer.Done{Finish: "tool_calls", Calls: calls}))
	return nil
}

// The model sees the functions of a namespace under names of their own; the client sees its own
// names again.
func TestNamespaces(t *testing.T) {
	long := strings.Repeat("n", 60)
	for _, tt := range []struct{ namespace, name, offered string }{
		{"agents", "spawn", "agents__spawn"},
		{long, "spawn", long[:55] + "_3b87b253"},
	} {
		h := serve(t, callFirst)
		tools := `"tools":[{"type":"namespace","name":"` + tt.namespace + `","description":"About agents.","tools":[
			{"type":"function","name":"` + tt.name + `","description":"Spawn one.","parameters":{"type":"object"}},{"type":"function","name":"stop"}]}]`
		first := h.create(`{"input":"Go.",` + tools + `}`)
		call := at(first, "output", 0)
		if at(call, "type") != "function_call" || at(call, "namespace") != tt.namespace || at(call, "name") != tt.name {
			t.Errorf("call %v", call)
		}
		if at(first, "tools", 0, "type") != "namespace" {
			t.Errorf("the response repeats the tools as %v", first["tools"])
		}
		own := h.turn(0).ClientTools
		if len(own) != 2 || own[0].Name != tt.offered || own[0].Description != "About agents.\n\nSpawn one." || own[1].Description != "" {
			t.Errorf("tools %+v", own)
		}
		// By its id, and by its items.
		h.create(`{"input":[{"type":"function_call_output","call_id":"call_1","output":"done"}],"previous_response_id":"` + id(first) + `",` + tools + `}`)
		h.create(`{"store":false,"input":[{"role":"user","content":"Go."},{"type":"function_call","call_id":"call_1","namespace":"` + tt.namespace + `","name":"` + tt.name +
			`","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"done"}],` + tools + `}`)
		for i := 1; i < 3; i++ {
			if turn := h.turn(i); turn.Results[0].ToolName != tt.offered || turn.Messages[1].Calls()[0].Function.Name != tt.offered {
				t.Errorf("turn %d: results %+v, messages %+v", i, turn.Results, turn.Messages)
			}
		}
		for _, choice := range []string{
			`{"type":"function","namespace":"` + tt.namespace + `","name":"` + tt.name + `"}`,
			`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","namespace":"` + tt.namespace + `","name":"` + tt.name + `"}]}`,
		} {
			h.create(`{"input":"Go.",` + tools + `,"tool_choice":` + choice + `}`)
		}
		if turn := h.turn(3); turn.MustCallTool != tt.offered {
			t.Errorf("the turn must call %q", turn.MustCallTool)
		}
		if turn := h.turn(4); !turn.MustCall || len(turn.ClientTools) != 1 || turn.ClientTools[0].Name != tt.offered {
			t.Errorf("tools %+v", turn.ClientTools)
		}
	}
}

// Tools that OpenAI hosts and this host does not have are left out with a warning, so that a client
// which always declares them works.
func TestTools_LeftOut(t *testing.T) {
	h := serve(t, func(_ context.Context, _ agent.Turn, say func(answer.Event) bool) error {
		say(answer.Event{Kind: answer.KindWarning, Text: "late"})
		say(text("ok"))
		say(ended(answer.Done{Finish: "stop", Warnings: []string{"late"}}))
		return nil
	})
	body := `{"input":"x","molar":{"events":true},"stream":true,"tools":[{"type":"image_generation"},{"type":"computer_use_preview","environment":"linux"},
		{"type":"namespace","name":"edit","tools":[{"type":"custom","name":"patch"}]},{"type":"function","name":"f"}]}`
	events := h.stream(body)
	want := []any{
		"tools[0]: the tool image_generation is left out, as this host does not have it",
		"tools[1]: the tool computer_use_preview is left out, as this host does not have it",
		"tools[2].tools[0]: the tool custom patch is left out, as this host does not have it",
		"late",
	}
	response := events[len(events)-1]["response"].(object)
	if diff := cmp.Diff(want, at(response, "molar", "warnings")); diff != "" {
		t.Error(diff)
	}
	var warned []any
	for _, ev := range events {
		if ev["type"] == "molar:warning" {
			warned = append(warned, at(ev, "molar", "text"))
		}
	}
	if diff := cmp.Diff(want, warned); diff != "" {
		t.Error(diff)
	}
	if tools := response["tools"].([]any); len(tools) != 2 || at(tools, 1, "name") != "f" {
		t.Errorf("the response repeats the tools as %v", tools)
	}
	if own := h.turn(0).ClientTools; len(own) != 1 || own[0].Name != "f" {
		t.Errorf("tools %+v", own)
	}
	// A list of allowed tools may name one too.
	h.create(`{"input":"x","tools":[{"type":"image_generation"},{"type":"function","name":"f"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"image_generation"},{"type":"function","name":"f"}]}}`)
	if own := h.turn(1).ClientTools; !slices.ContainsFunc(own, func(t schemas.ToolInfo) bool { return t.Name == "f" }) {
		t.Errorf("tools %+v", own)
	}
}
