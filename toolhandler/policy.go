package toolhandler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"molar/schemas"
)

// needsApproval returns why the tool needs a person's approval, or "".
//
// Text from a server may try to make the model act. So with the policy auto every call is free
// while the model has read nothing; after that a tool that only adds is free while only its own
// server was read, and a reader is free while it carries no text from one server to another. Any
// other call needs approval, and so does every call of a destructive tool.
func (r *round) needsApproval(tool schemas.Tool, args json.RawMessage) string {
	switch tool.Rules.Policy {
	case schemas.PolicyAllow:
		return ""
	case schemas.PolicyConfirm:
		return "its policy is confirm"
	case schemas.PolicyDeny:
		return "its policy is deny"
	}
	if destroys(tool) {
		return "it announces itself as destructive"
	}
	foreign := r.flow.Foreign()
	if len(foreign) == 0 {
		return ""
	}
	class, why := Classify(tool)
	if class == Reads {
		return r.carriesAway(tool, args)
	}
	for _, server := range foreign {
		if class == Writes || server != tool.Server {
			return fmt.Sprintf("%s read before, and the tool %s: %s", textsOf(server), class, why)
		}
	}
	return ""
}

// carriesAway returns which server's text a reader would carry to another server, or "".
func (r *round) carriesAway(tool schemas.Tool, args json.RawMessage) string {
	if tool.Rules.NoEgress {
		return ""
	}
	from, run, carried := r.flow.carriedBy(args, tool.Server)
	if !carried {
		return ""
	}
	whose := "server " + from
	switch {
	case from == "":
		whose = "another server or a file"
	case !isServer(from):
		whose = from
	}
	return fmt.Sprintf("its arguments take text of %s to server %s: %q", whose, tool.Server, run)
}

// textsOf returns the wording for texts of a source.
func textsOf(source string) string {
	switch {
	case source == "":
		return "text of a server or a file was"
	case !isServer(source):
		return "text of " + source + " was"
	}
	return "results of server " + source + " were"
}

// isServer reports whether a source is a server; the names of others, such as files, have a
// space.
func isServer(source string) bool { return !strings.Contains(source, " ") }

// whyUnsure is why a call that was sent before its process was lost asks.
const whyUnsure = "it was sent before the host stopped, and no result came: it may have been done already"

// approve asks a person; unsure is set if the call may have been done already, so that only an answer
// to that question counts. It returns the arguments to call with, or the outcome that reports the
// refusal to the model.
func (r *round) approve(ctx context.Context, call schemas.ToolCall, tool schemas.Tool, args json.RawMessage, why string, unsure bool) (json.RawMessage, *Outcome) {
	if tool.Rules.Policy == schemas.PolicyDeny {
		out := failure(call, tool, StatusRefused, "%q may not be called", tool.Name)
		return nil, &out
	}
	ask := Approval{
		Call: call, Tool: tool, Why: why, Scopes: r.turn.scopes(tool), Unsure: unsure,
		Check: func(arguments string) error {
			_, err := r.checkedArguments(tool, arguments)
			return err
		},
	}
	if unsure {
		ask.Scopes = nil
	} else if r.turn.consented(tool, call) { // its approval is already audited
		return args, nil
	}
	decided := func(how How, d Decision) {
		Audit(r.turn.h.log, Ruling{Owner: r.turn.owner, TurnID: r.turn.id, Call: call, Tool: tool, How: how, Decision: d})
	}
	if !unsure && r.turn.granted(ctx, ask) {
		decided(ByGrant, Decision{Allowed: true})
		return args, nil
	}
	if r.turn.approver == nil {
		decided(NobodyThere, Decision{})
		if unsure {
			out := failure(call, tool, StatusUnsure, "%q was sent before the host stopped, and no result came: it may or may not have been done; it was not sent again, and nobody is there to ask; tell the person to check", tool.Name)
			out.Sent = true
			return nil, &out
		}
		out := failure(call, tool, StatusUnapproved, "%q was not executed: it needs a person's approval (%s), and nobody is there to ask", tool.Name, why)
		return nil, &out
	}
	asked := time.Now()
	askCtx, cancel := context.WithTimeout(ctx, ApprovalTimeout)
	ask.Expires = asked.Add(ApprovalTimeout)
	decision, err := r.turn.approver.Approve(askCtx, ask)
	late := errors.Is(askCtx.Err(), context.DeadlineExceeded)
	cancel()
	waited := time.Since(asked)
	r.asked.Add(int64(waited))
	r.addWait(call.ID, waited)
	if err != nil {
		decided(NoAnswer, Decision{})
	} else {
		decided(InTurn, decision)
	}
	if unsure && (err != nil || !decision.Allowed) {
		out := failure(call, tool, StatusUnsure, "%q was sent before the host stopped, and no result came; the person did not have it sent again: it was done, or is not wanted", tool.Name)
		out.Sent = true
		return nil, &out
	}
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
	if decision.Arguments != "" {
		if args, err = r.checkedArguments(tool, decision.Arguments); err != nil {
			out := failure(call, tool, StatusInvalid, "the edited arguments of %q do not fit: %v", tool.Name, err)
			return nil, &out
		}
		ask.Call.Function.Arguments = decision.Arguments
	}
	if !unsure {
		r.turn.grant(ctx, ask, decision.Scope)
	}
	return args, nil
}

// checkedArguments parses arguments and checks them against the tool's schema.
func (r *round) checkedArguments(tool schemas.Tool, text string) (json.RawMessage, error) {
	args, err := parseArguments(text)
	if err != nil {
		return nil, err
	}
	return args, r.turn.h.validators.check(tool, args)
}
