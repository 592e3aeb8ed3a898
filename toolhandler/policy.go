package toolhandler

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"molar/schemas"
)

// needsApproval returns why a person must be asked before the tool runs, or "".
//
// Text that one server returned may try to make the model act on another. So with
// the policy auto a call is free while the model has read nothing, or only results
// of the same server; any other call needs the operator's readOnly mark or a
// person. What a tool says of itself may tighten this, never loosen it.
func (r *round) needsApproval(tool schemas.Tool) string {
	switch tool.Rules.Policy {
	case schemas.PolicyAllow:
		return ""
	case schemas.PolicyConfirm:
		return "its policy is confirm"
	case schemas.PolicyDeny:
		return "its policy is deny"
	}
	if d := tool.Annotations.DestructiveHint; d != nil && *d {
		return "it announces itself as destructive"
	}
	if tool.Rules.ReadOnly {
		return ""
	}
	for server := range r.read {
		if server != tool.Server {
			return "results of server " + server + " were read before, and the tool is not marked readOnly"
		}
	}
	return ""
}

// approve asks a person. It returns the arguments to call with, or the outcome that
// tells the model that the call may not run.
func (r *round) approve(ctx context.Context, call schemas.ToolCall, tool schemas.Tool, args json.RawMessage, why string) (json.RawMessage, *Outcome) {
	if tool.Rules.Policy == schemas.PolicyDeny {
		out := failure(call, tool, StatusRefused, "%q may not be called", tool.Name)
		return nil, &out
	}
	if r.turn.approver == nil {
		out := failure(call, tool, StatusUnapproved, "%q was not executed: it needs a person's approval (%s), and nobody is there to ask", tool.Name, why)
		return nil, &out
	}
	asked := time.Now()
	askCtx, cancel := context.WithTimeout(ctx, ApprovalTimeout)
	decision, err := r.turn.approver.Approve(askCtx, Approval{
		Call: call, Tool: tool, Why: why, Expires: asked.Add(ApprovalTimeout),
		Check: func(arguments string) error {
			_, err := r.checkedArguments(tool, arguments)
			return err
		},
	})
	late := errors.Is(askCtx.Err(), context.DeadlineExceeded)
	cancel()
	r.asked.Add(int64(time.Since(asked)))
	if err != nil && late {
		out := failure(call, tool, StatusUnapproved, "%q was not executed: it needs a person's approval, and nobody decided within %s, which counts as a no", tool.Name, ApprovalTimeout)
		return nil, &out
	}
	if err != nil {
		out := failure(call, tool, StatusUnapproved, "%q was not executed: nobody approved it", tool.Name)
		return nil, &out
	}
	if !decision.Allowed {
		out := failure(call, tool, StatusRefused, "%q was not executed: the person said no", tool.Name)
		return nil, &out
	}
	if decision.Arguments == "" {
		return args, nil
	}
	edited, err := r.checkedArguments(tool, decision.Arguments)
	if err != nil {
		out := failure(call, tool, StatusInvalid, "the edited arguments of %q do not fit: %v", tool.Name, err)
		return nil, &out
	}
	return edited, nil
}

// checkedArguments reads arguments and checks them against the tool's schema.
func (r *round) checkedArguments(tool schemas.Tool, text string) (json.RawMessage, error) {
	args, err := parseArguments(text)
	if err != nil {
		return nil, err
	}
	return args, r.turn.h.validators.check(tool, args)
}
