package toolhandler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"molar/schemas"
)

// A round executes the calls of one answer. Its inputs (budget, texts read) are fixed when it
// opens, so that concurrent calls do not depend on which of them ends first.
type round struct {
	turn     *Turn
	allowed  int
	deadline time.Duration
	// flow is what the prompt held when the round opened: that of the turn grows while its calls run.
	flow Flow
	// args are the parsed arguments of the calls, faults what is wrong with those that could not be.
	args   []json.RawMessage
	faults []error
	// reasons are why the calls ask.
	reasons []Reason
	// free is set for those that run only because their arguments are the person's own words.
	free  []bool
	asked atomic.Int64
	// waits maps a call's id to the time it waited for a person.
	waits sync.Map
	// deciders maps a call's id to who decided about it, if that was not simply the person who asks.
	deciders sync.Map
}

func (t *Turn) openRound(calls []schemas.ToolCall) *round {
	r := &round{
		turn: t, allowed: t.calls, deadline: t.left, flow: t.flow, args: make([]json.RawMessage, len(calls)), faults: make([]error, len(calls)),
		reasons: make([]Reason, len(calls)), free: make([]bool, len(calls)),
	}
	for i, call := range calls {
		tool, known := t.Lookup(call.Function.Name)
		r.args[i], r.faults[i] = parseArguments(call.Function.Arguments)
		if !known || r.faults[i] != nil {
			continue
		}
		r.reasons[i], r.free[i] = t.admit(tool, r.args[i])
		if t.isUnsure(call, tool) && r.reasons[i].Rule != RuleDeny {
			r.reasons[i].Rule = RuleUnsure
		}
	}
	t.calls = max(0, t.calls-len(calls))
	return r
}

// admit returns why a call asks, and counts it if it is free only because its arguments are the person's own
// words.
func (t *Turn) admit(tool schemas.Tool, args json.RawMessage) (reason Reason, free bool) {
	reason, carried, free := t.review(tool, args)
	if free {
		t.clean, t.carried = t.clean+1, t.carried+carried
	}
	return reason, free
}

// waited returns the time that a person took to decide.
func (r *round) waited() time.Duration { return time.Duration(r.asked.Load()) }

// ask asks a person. late is set if nobody decided in time.
func (r *round) ask(ctx context.Context, a Approval) (d Decision, late bool, err error) {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(ctx, ApprovalTimeout)
	defer cancel()
	a.Expires = asked.Add(ApprovalTimeout)
	d, err = r.turn.cfg.Approver.Approve(ctx, a)
	waited := time.Since(asked)
	r.asked.Add(int64(waited))
	r.addWait(a.Call.ID, waited)
	return d, err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded), err
}

// addWait records how long a call waited for a person.
func (r *round) addWait(id string, waited time.Duration) {
	if before, ok := r.waits.Load(id); ok {
		waited += before.(time.Duration)
	}
	r.waits.Store(id, waited)
}

// run makes all checks of one call and executes it.
func (r *round) run(ctx context.Context, index int, call schemas.ToolCall) (out Outcome) {
	start := time.Now()
	ctx = withSlot(ctx, index)
	tool, known := r.turn.Lookup(call.Function.Name)
	defer func() {
		if p := recover(); p != nil {
			r.turn.h.log.Error("tool call panicked", "tool", tool.Name, "panic", p, "stack", string(debug.Stack()))
			out = failure(call, tool, StatusFailed, "tool %q: the host could not run it; do not call it again", call.Function.Name)
			out.Sent = true // it is unknown how far it got
		}
		if waited, ok := r.waits.Load(call.ID); ok {
			out.Waited, _ = waited.(time.Duration)
		}
		if by, ok := r.deciders.Load(call.ID); ok {
			out.DecidedBy, _ = by.(string)
		}
		out.Took = max(0, time.Since(start)-out.Waited)
		out.Result.Duration = out.Took
	}()
	if index >= r.allowed {
		return failure(call, tool, StatusLimit, "not executed: the limit of tool calls of this turn is reached; answer with what is known")
	}
	if !known {
		return failure(call, tool, StatusUnknown, "there is no tool %q; the tools are: %s", call.Function.Name, r.turn.names())
	}
	args, err := r.args[index], r.faults[index]
	if err != nil {
		return failure(call, tool, StatusInvalid, "the arguments of %q are not a JSON object: %v", tool.Name, err)
	}
	if err := r.turn.h.inputs.check(tool, args); err != nil {
		return failure(call, tool, StatusInvalid, "the arguments of %q do not fit its schema: %v", tool.Name, err)
	}
	if reason := r.reasons[index]; reason.Rule != "" {
		approved, refused := r.approve(ctx, call, tool, args, reason)
		if refused != nil {
			return *refused
		}
		if !bytes.Equal(approved, args) {
			return r.executeEdited(ctx, call, tool, approved)
		}
	}
	if r.free[index] {
		args = json.RawMessage(canonical(string(args))) // how a model wrote them carries nothing
	}
	return r.execute(ctx, call, tool, args)
}

// names returns the tool names for a model that called an unknown tool.
func (t *Turn) names() string {
	names := make([]string, 0, len(t.cfg.Tools))
	for _, tool := range t.cfg.Tools {
		if tool.Server != "" {
			names = append(names, tool.Name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	const most = 20
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}

// parseArguments checks that the text is one strict JSON object. An empty text means no
// arguments.
func parseArguments(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "null" {
		return json.RawMessage("{}"), nil
	}
	if err := schemas.CheckJSON([]byte(text)); err != nil {
		return nil, err
	}
	if text[0] != '{' {
		return nil, errors.New("it is another JSON value")
	}
	return json.RawMessage(text), nil
}

// execute calls the tool and converts its result or error into an outcome.
func (r *round) execute(ctx context.Context, call schemas.ToolCall, tool schemas.Tool, args json.RawMessage) Outcome {
	limit := min(callTimeout(tool.Rules), r.deadline)
	callCtx, stop := r.turn.clocks.start(ctx, tool, limit, r.deadline)
	defer func() { r.addWait(call.ID, stop()) }()
	if r.turn.cfg.Before != nil && r.turn.MayAct(tool) {
		if err := r.turn.cfg.Before(ctx, call); err != nil {
			return r.fault(ctx, callCtx, call, tool, limit, err)
		}
	}
	result, err := r.turn.call(callCtx, tool, args)
	if err != nil {
		out := r.fault(ctx, callCtx, call, tool, limit, err)
		out.Sent = !errors.Is(err, ErrNotSent)
		return out
	}
	result.ID, result.ToolName = call.ID, tool.ToolName
	if tool.Server != "" { // a host tool names the server that it read from
		result.Server = tool.Server
	}
	if len(result.Output) == 0 {
		result.Output = json.RawMessage(`""`)
	}
	status := StatusOK
	if result.IsError {
		status = StatusToolError
	}
	return Outcome{Call: call, Tool: tool, Result: result, Status: status, Sent: true}
}

// MayAct reports whether a call of a tool of the turn may have an effect that a second one would
// double: it is neither a reader nor idempotent.
func (t *Turn) MayAct(tool schemas.Tool) bool {
	return t.classOf(tool) != Reads && !tool.Rules.Idempotent && !isTrue(tool.Annotations.IdempotentHint)
}

// executeEdited calls the tool with the person's arguments and tells the model so: it would
// otherwise answer as if its own had been used.
func (r *round) executeEdited(ctx context.Context, call schemas.ToolCall, tool schemas.Tool, args json.RawMessage) Outcome {
	call.Function.Arguments = string(args)
	out := r.execute(ctx, call, tool, args)
	told, err := json.Marshal(map[string]json.RawMessage{"arguments_changed_by_a_person": args, "output": out.Result.Output})
	if err == nil {
		out.Result.Output = told
	}
	return out
}

// fault converts an error into an outcome for the model. After a timeout the effect is unknown,
// so the text warns not to assume that nothing was done.
func (r *round) fault(ctx, callCtx context.Context, call schemas.ToolCall, tool schemas.Tool, limit time.Duration, err error) Outcome {
	r.turn.h.log.Warn("tool call failed", slog.String("tool", tool.Name), slog.String("server", tool.Server), slog.Any("error", err))
	switch {
	case ctx.Err() != nil:
		return failure(call, tool, StatusFailed, "the call of %q was cancelled", tool.Name)
	case errors.Is(context.Cause(callCtx), context.DeadlineExceeded):
		return failure(call, tool, StatusTimeout, "%q on server %q gave no answer within %s; it may or may not have taken effect", tool.Name, tool.Server, limit.Round(time.Millisecond))
	}
	return failure(call, tool, StatusFailed, "%q could not be called: %v", tool.Name, err)
}
