package toolhandler_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"molar/schemas"
	"molar/toolhandler"
)

type approverFunc func(ctx context.Context, a toolhandler.Approval) (toolhandler.Decision, error)

func (f approverFunc) Approve(ctx context.Context, a toolhandler.Approval) (toolhandler.Decision, error) {
	return f(ctx, a)
}

// A call is free while the model has read nothing or only its own server; what a
// tool says of itself may only tighten that.
func TestTurn_policy(t *testing.T) {
	tests := []struct {
		name  string
		rules schemas.ToolRules
		hints schemas.ToolAnnotations
		read  []string
		want  toolhandler.Status
	}{
		{"nothing read", schemas.ToolRules{}, schemas.ToolAnnotations{}, nil, toolhandler.StatusOK},
		{"own server read", schemas.ToolRules{}, schemas.ToolAnnotations{}, []string{"s"}, toolhandler.StatusOK},
		{"other server read", schemas.ToolRules{}, schemas.ToolAnnotations{}, []string{"web"}, toolhandler.StatusUnapproved},
		{"other read, says it is read-only", schemas.ToolRules{}, schemas.ToolAnnotations{ReadOnlyHint: new(true)}, []string{"web"}, toolhandler.StatusUnapproved},
		{"other read, marked read-only", schemas.ToolRules{ReadOnly: true}, schemas.ToolAnnotations{}, []string{"web"}, toolhandler.StatusOK},
		{"other read, allowed", schemas.ToolRules{Policy: schemas.PolicyAllow}, schemas.ToolAnnotations{}, []string{"web"}, toolhandler.StatusOK},
		{"destructive", schemas.ToolRules{}, schemas.ToolAnnotations{DestructiveHint: new(true)}, nil, toolhandler.StatusUnapproved},
		{"destructive, marked read-only", schemas.ToolRules{ReadOnly: true}, schemas.ToolAnnotations{DestructiveHint: new(true)}, nil, toolhandler.StatusUnapproved},
		{"destructive, allowed", schemas.ToolRules{Policy: schemas.PolicyAllow}, schemas.ToolAnnotations{DestructiveHint: new(true)}, nil, toolhandler.StatusOK},
		{"confirm", schemas.ToolRules{Policy: schemas.PolicyConfirm}, schemas.ToolAnnotations{}, nil, toolhandler.StatusUnapproved},
		{"deny", schemas.ToolRules{Policy: schemas.PolicyDeny}, schemas.ToolAnnotations{}, nil, toolhandler.StatusRefused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tool("s", "act", "")
			s.Rules, s.Annotations = tt.rules, tt.hints
			turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{s}, Read: tt.read})
			if o := collect(t.Context(), turn, call("1", "act", ""))[0]; o.Status != tt.want {
				t.Errorf("status %q, want %q (%s)", o.Status, tt.want, o.Result.OutputText())
			}
		})
	}
}

// A result of one server closes the way to others for the rest of the turn.
func TestTurn_policy_afterARead(t *testing.T) {
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool("a", "one", ""), tool("b", "two", "")}})
	if o := collect(t.Context(), turn, call("1", "one", ""), call("2", "two", "")); o[0].Status != toolhandler.StatusOK || o[1].Status != toolhandler.StatusOK {
		t.Fatalf("calls planned together: %s, %s", o[0].Status, o[1].Status)
	}
	if o := collect(t.Context(), turn, call("3", "one", ""))[0]; o.Status != toolhandler.StatusUnapproved {
		t.Errorf("after both servers were read: %s", o.Status)
	}
}

func TestTurn_approval(t *testing.T) {
	tests := []struct {
		name     string
		decision toolhandler.Decision
		err      error
		want     toolhandler.Status
		output   string
	}{
		{"yes", toolhandler.Decision{Allowed: true}, nil, toolhandler.StatusOK, `{"familyId":"a"}`},
		{"no", toolhandler.Decision{}, nil, toolhandler.StatusRefused, ""},
		{"nobody", toolhandler.Decision{}, errors.New("gone"), toolhandler.StatusUnapproved, ""},
		{"edited", toolhandler.Decision{Allowed: true, Arguments: `{"familyId":"b"}`}, nil, toolhandler.StatusOK, `{"arguments_changed_by_a_person":{"familyId":"b"},"output":{"familyId":"b"}}`},
		{"edited badly", toolhandler.Decision{Allowed: true, Arguments: `{"familyId":1}`}, nil, toolhandler.StatusInvalid, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tool("s", "act", familySchema)
			s.Rules.Policy = schemas.PolicyConfirm
			ask := approverFunc(func(context.Context, toolhandler.Approval) (toolhandler.Decision, error) { return tt.decision, tt.err })
			turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{s}, Approver: ask})
			o := collect(t.Context(), turn, call("1", "act", `{"familyId":"a"}`))[0]
			if o.Status != tt.want || tt.output != "" && string(o.Result.Output) != tt.output {
				t.Errorf("%s %s, want %s %s", o.Status, o.Result.Output, tt.want, tt.output)
			}
		})
	}
}

// The time that a person takes is no tool time.
func TestTurn_approval_doesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tool("s", "act", "")
		s.Rules.Policy = schemas.PolicyConfirm
		ask := approverFunc(func(context.Context, toolhandler.Approval) (toolhandler.Decision, error) {
			time.Sleep(5 * time.Minute)
			return toolhandler.Decision{Allowed: true}, nil
		})
		turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{s}, Approver: ask})
		collect(t.Context(), turn, call("1", "act", ""))
		if why := turn.Exhausted(); why != "" {
			t.Error(why)
		}
	})
}
