package toolhandler_test

import (
	"context"
	"testing"

	"molar/schemas"
	"molar/toolhandler"
)

type grants map[string]toolhandler.Scope

func (g grants) Granted(_ context.Context, subject string) bool { return g[subject] != "" }

func (g grants) Grant(_ context.Context, subject string, scope toolhandler.Scope) error {
	g[subject] = scope
	return nil
}

// A permission beyond one call applies to the same tool and destination, in this turn and in
// later ones, and to nothing else.
func TestTurn_grants(t *testing.T) {
	asked := 0
	given := grants{}
	yes := approverFunc(func(context.Context, toolhandler.Approval) (toolhandler.Decision, error) {
		asked++
		return toolhandler.Decision{Allowed: true, Scope: toolhandler.InConversation}, nil
	})
	confirmed, destroys := tool("s", "ask", ""), tool("s", "drop", "")
	confirmed.Rules.Policy, destroys.Annotations.DestructiveHint = schemas.PolicyConfirm, new(true)
	play := func(tool schemas.Tool, args string) int {
		before := asked
		turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}, Flow: readFrom("web"), Approver: yes, Grants: given})
		waits := turn.Asks(t.Context(), call("1", tool.Name, args))
		collect(t.Context(), turn, call("1", tool.Name, args))
		if waits != (asked > before) {
			t.Errorf("%s: it is said to wait: %v", tool.Name, waits)
		}
		collect(t.Context(), turn, call("2", tool.Name, args))
		return asked - before
	}
	for _, tt := range []struct {
		tool schemas.Tool
		args string
		want int
	}{
		{tool("mail", "send", ""), `{"to":"a@b.example","text":"1"}`, 1},
		{tool("mail", "send", ""), `{"to":"a@b.example","text":"2"}`, 0},
		{tool("mail", "send", ""), `{"to":"c@b.example","text":"2"}`, 1},
		{tool("post", "send", ""), `{"to":"a@b.example","text":"2"}`, 1},
		{confirmed, `{"to":"a@b.example"}`, 1},
		{destroys, `{"to":"a@b.example"}`, 2},
	} {
		if got := play(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s %s: asked %d times, want %d", tt.tool.Name, tt.args, got, tt.want)
		}
	}
}

// A permission applies to the arguments as the person edited them, not to the model's.
func TestTurn_grantsWhatWasEdited(t *testing.T) {
	given := grants{}
	edits := approverFunc(func(context.Context, toolhandler.Approval) (toolhandler.Decision, error) {
		return toolhandler.Decision{Allowed: true, Arguments: `{"to":"a@b.example"}`, Scope: toolhandler.Always}, nil
	})
	send := tool("mail", "send", "")
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{send}, Flow: readFrom("web"), Approver: edits, Grants: given})
	collect(t.Context(), turn, call("1", send.Name, `{"to":"evil@b.example"}`))
	if given[send.Name+" to a@b.example"] != toolhandler.Always || len(given) != 1 {
		t.Errorf("granted %v", given)
	}
}

// A tool that is annotated as destructive needs approval for each call, whatever was permitted.
func TestTurn_theDestructiveAlwaysAsks(t *testing.T) {
	asked, given := 0, grants{}
	always := approverFunc(func(_ context.Context, a toolhandler.Approval) (toolhandler.Decision, error) {
		asked++
		if len(a.Scopes) != 1 {
			t.Errorf("scopes %v", a.Scopes)
		}
		return toolhandler.Decision{Allowed: true, Scope: toolhandler.Always}, nil
	})
	drop := tool("s", "drop", "")
	drop.Annotations.DestructiveHint = new(true)
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{drop}, Approver: always, Grants: given})
	collect(t.Context(), turn, call("1", drop.Name, `{}`))
	collect(t.Context(), turn, call("2", drop.Name, `{}`))
	if asked != 2 || len(given) != 0 {
		t.Errorf("asked %d times, granted %v", asked, given)
	}
}
