package toolhandler_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"molar/schemas"
	"molar/toolhandler"
)

// Visitors get what reads, and what the operator allows in words.
func TestForVisitors(t *testing.T) {
	yes, no := true, false
	for name, tt := range map[string]struct {
		tool string
		schemas.ToolRules
		hints schemas.ToolAnnotations
		why   string
	}{
		"it reads by its name":      {tool: "get_hours"},
		"by its annotation":         {tool: "hours", hints: schemas.ToolAnnotations{ReadOnlyHint: &yes}},
		"by the config":             {tool: "hours", ToolRules: schemas.ToolRules{ReadOnly: true}},
		"it writes by its name":     {tool: "book_visit", why: `visitors may only read: its name says "book"`},
		"by its annotations":        {tool: "get_hours", hints: schemas.ToolAnnotations{ReadOnlyHint: &no}, why: "visitors may only read: its annotations"},
		"by the word of a person":   {tool: "get_hours", ToolRules: schemas.ToolRules{Writes: true}, why: "visitors may only read: a person has marked it"},
		"it only adds":              {tool: "book_visit", ToolRules: schemas.ToolRules{Adds: true}, why: "visitors may only read: the config marks it adds"},
		"it is allowed":             {tool: "book_visit", ToolRules: schemas.ToolRules{Policy: schemas.PolicyAllow}},
		"a person would be asked":   {tool: "get_hours", ToolRules: schemas.ToolRules{Policy: schemas.PolicyConfirm}, why: "visitors may only read: its policy is confirm"},
		"auto is not allowed":       {tool: "book_visit", ToolRules: schemas.ToolRules{Policy: schemas.PolicyAuto}, why: "visitors may only read"},
		"nothing is known about it": {tool: "visit", why: "visitors may only read"},
	} {
		got := toolhandler.ForVisitors(schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "s__" + tt.tool, Server: "s", ToolName: tt.tool, Annotations: tt.hints}, Rules: tt.ToolRules})
		if !strings.HasPrefix(got, tt.why) || (got == "") != (tt.why == "") {
			t.Errorf("%s: %q, want %q", name, got, tt.why)
		}
	}
}

// A call of a visitor is not executed unless it reads, even if the tool was offered and nothing foreign was read.
func TestTurn_Visitor(t *testing.T) {
	ask := tool("s", "ask", `{}`)
	ask.Rules.Policy = schemas.PolicyAllow
	tools := []schemas.Tool{tool("s", "get_hours", `{"type":"object","properties":{"day":{"type":"string"}}}`), tool("s", "book", `{}`), ask}
	for _, tt := range []struct {
		visitor    bool
		name, args string
		want       toolhandler.Status
	}{
		{true, "s__get_hours", `{"day":"Monday"}`, toolhandler.StatusOK},
		{true, "s__get_hours", `{"delete":"everything"}`, toolhandler.StatusRefused},
		{true, "s__book", `{}`, toolhandler.StatusRefused},
		{true, "s__ask", `{}`, toolhandler.StatusOK},
		{false, "s__book", `{}`, toolhandler.StatusOK},
	} {
		sent := 0
		h := newHandler(t, func(ctx context.Context, server, name string, args json.RawMessage) (schemas.ToolResult, error) {
			sent++
			return echo(ctx, server, name, args)
		})
		turn := h.Begin(toolhandler.TurnConfig{Tools: tools, Visitor: tt.visitor})
		for _, out := range collect(t.Context(), turn, call("1", tt.name, tt.args)) {
			if out.Status != tt.want || (sent == 1) != (tt.want == toolhandler.StatusOK) {
				t.Errorf("%+v: %s, sent %d times: %s", tt, out.Status, sent, out.Result.Output)
			}
		}
	}
}
