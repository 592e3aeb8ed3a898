package toolhandler

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/schemas"
)

// Limits bound the tool calls of a turn.
type Limits struct {
	// Calls is how many calls may be executed; 0 means 16.
	Calls int
	// Time bounds the execution of all calls together, without the time of a person's decisions;
	// 0 means 120 s.
	Time time.Duration
}

// Defaults of [Limits].
const (
	DefaultCalls = 16
	DefaultTime  = 120 * time.Second
)

// TurnConfig configures a turn.
type TurnConfig struct {
	// Owner is the owner of the turn, ID its id, and Started when it began, all for the audit.
	Owner, ID string
	Started   time.Time
	// Language is what a person is asked in.
	Language string
	// Tools are the callable tools of servers; the turn keeps the slice, which must not change.
	Tools []schemas.Tool
	// Host are the host's own tools.
	Host []HostTool
	// Flow is what the model has already read, in this turn or from memory, and Catalogue makes
	// readings of the results of the turn.
	Flow      Flow
	Catalogue *Catalogue
	// Consented are calls that the person has approved, each for one use.
	Consented []Consent
	// ApprovesOwn reports whether the person who asks may decide about their own calls of tools with these
	// approvers; nil means never.
	ApprovesOwn func(approvers []string) bool
	// Made are the calls that the turn made before it paused or its process was lost: they count within
	// its bound of calls with the person's own words.
	Made []schemas.ToolCall
	// Unsure are calls that were sent before their process was lost, and whose result never came: those
	// that may have an effect are made again only if a person says so.
	Unsure []schemas.ToolCall
	// Audit is called with each decision about a call; nil only logs them.
	Audit func(ctx context.Context, r Ruling)
	// Visitor is set for a turn of somebody on a public page: what [ForVisitors] says of the tools counts
	// for each call too, whose arguments its schema may not declare.
	Visitor bool
	// Approver is nil if there is no person to ask.
	Approver Approver
	// Grants are the standing approvals; nil means none.
	Grants Grants
	// Caller is the person for whom servers are called as themselves; the zero Caller is nobody.
	Caller schemas.Caller
	// Person is nil if servers cannot reach a person.
	Person Person
	Limits Limits
	// Before is called before a call is sent that may have an effect: its tool is neither
	// read-only nor idempotent. An error keeps the call from being sent. It may be nil.
	Before func(ctx context.Context, call schemas.ToolCall) error
	// Show returns a result as the model is shown it, which is all that is known of it from then on.
	// Nil shows it whole.
	Show func(ctx context.Context, r schemas.ToolResult) schemas.ToolResult
}

// A HostTool is executed by the host and needs no approval. Its text counts as text of the server
// that its result names, if any.
type HostTool struct {
	Info schemas.ToolInfo
	Call func(ctx context.Context, args json.RawMessage) (schemas.ToolResult, error)
	// Own is set if its texts are the operator's.
	Own bool
}

// A Turn executes the calls of one turn. Rounds of one turn run one after the other.
type Turn struct {
	h   *Handler
	cfg TurnConfig
	// calls and left are what is left of the limits.
	calls int
	left  time.Duration
	// flow is what the model has read so far.
	flow Flow
	// clean is how many calls ran only because their arguments are the person's own words, carried how
	// many bits their choice can carry.
	clean, carried int
	// classes are those of the tools that were called, by name.
	classes sync.Map
	// consents are the exact calls that a person has approved; consenting guards them.
	consents   []Consent
	consenting sync.Mutex
	who        *schemas.Person
	clocks     clocks
	repeats    repeats
}

// Begin starts the tool side of a turn.
func (h *Handler) Begin(cfg TurnConfig) *Turn {
	t := &Turn{
		h: h, cfg: cfg, flow: cfg.Flow, consents: slices.Clone(cfg.Consented),
		calls: cmp.Or(cfg.Limits.Calls, DefaultCalls),
		left:  cmp.Or(cfg.Limits.Time, DefaultTime),
	}
	t.who = t.personForServer(cfg.Person)
	for _, call := range cfg.Made {
		tool, known := t.Lookup(call.Function.Name)
		if args, err := parseArguments(call.Function.Arguments); known && err == nil {
			t.admit(tool, args)
		}
	}
	return t
}

// Exhausted returns which limit ends tool use in this turn, or "".
func (t *Turn) Exhausted() string {
	switch {
	case t.calls <= 0:
		return "the limit of tool calls of this turn is reached"
	case t.left <= 0:
		return "the time for tools of this turn is used up"
	case t.repeats.ended:
		return "the same call was made again and again"
	}
	return ""
}

// Join makes more tools of servers callable, between two rounds. What their servers say of them was read
// from then on.
func (t *Turn) Join(tools ...schemas.Tool) {
	t.cfg.Tools = slices.Concat(t.cfg.Tools, tools)
	for _, tool := range tools {
		if tool.Rules.Marks.Unseen && !slices.Contains(t.flow.Described, tool.Server) {
			t.flow.Described = append(slices.Clip(t.flow.Described), tool.Server)
		}
	}
}

// Flow returns what the model has read so far.
func (t *Turn) Flow() Flow { return t.flow }

// audit reports a decision about a call.
func (t *Turn) audit(ctx context.Context, r Ruling) {
	if t.cfg.Audit != nil {
		t.cfg.Audit(ctx, r)
		return
	}
	Audit(t.h.log, r)
}

// Asks reports whether the call needs a person's approval. A call with invalid arguments, or
// beyond a limit, fails without asking.
func (t *Turn) Asks(ctx context.Context, call schemas.ToolCall) bool {
	tool, known := t.Lookup(call.Function.Name)
	if !known || t.cfg.Approver == nil || tool.Rules.Policy == schemas.PolicyDeny {
		return false
	}
	call = t.WithoutNulls(call)
	args, err := parseArguments(call.Function.Arguments)
	if err != nil {
		return false
	}
	reason, _, _ := t.review(tool, args)
	return t.isUnsure(call, tool) || reason.Rule != "" && reason.Rule != RuleDeny && t.consented(tool, call, false) == nil &&
		!t.granted(ctx, Approval{Tool: tool, Reason: reason, Destinations: []Destination{{Arguments: t.actionOf(tool, args).places}}})
}

// isUnsure reports whether the call was sent before its process was lost, and may have had its effect.
func (t *Turn) isUnsure(call schemas.ToolCall, tool schemas.Tool) bool {
	return slices.ContainsFunc(t.cfg.Unsure, func(u schemas.ToolCall) bool { return u.ID == call.ID }) && t.MayAct(tool)
}

// Lookup finds a call's tool by its offered name, or by its own name if only one offered tool has
// it. Some models prefix a namespace.
func (t *Turn) Lookup(name string) (schemas.Tool, bool) {
	for _, prefix := range []string{"default_api.", "default_api:"} {
		name = strings.TrimPrefix(name, prefix)
	}
	own, found := -1, 0
	for i := range t.cfg.Tools {
		if t.cfg.Tools[i].Name == name {
			return t.cfg.Tools[i], true
		}
		if t.cfg.Tools[i].ToolName == name {
			own, found = i, found+1
		}
	}
	for _, tool := range t.cfg.Host {
		if tool.Info.Name == name {
			return tool.asTool(), true
		}
	}
	if found == 1 {
		return t.cfg.Tools[own], true
	}
	return schemas.Tool{}, false
}

// classOf is [Classify] for a tool of the turn, which stays as it is.
func (t *Turn) classOf(tool schemas.Tool) Class {
	known, ok := t.classes.Load(tool.Name)
	if !ok {
		class, _ := classify(tool, func() *argSchema { return t.h.inputs.schemaOf(tool) }, nil)
		known, _ = t.classes.LoadOrStore(tool.Name, class)
	}
	return known.(Class)
}

// saysOwn reports whether a tool is one of the host whose texts are the operator's.
func (t *Turn) saysOwn(tool schemas.Tool) bool {
	return tool.Server == "" && slices.ContainsFunc(t.cfg.Host, func(h HostTool) bool { return h.Own && h.Info.Name == tool.Name })
}

func (h HostTool) asTool() schemas.Tool {
	return schemas.Tool{ToolInfo: h.Info, Rules: schemas.ToolRules{Policy: schemas.PolicyAllow, ReadOnly: true}}
}

// A Status is how a call ended.
type Status string

// The statuses of an [Outcome]. All but StatusOK and StatusRepeated, which has the result of an
// earlier call, carry a result with IsError set.
const (
	StatusOK         Status = "ok"
	StatusRepeated   Status = "repeated"
	StatusToolError  Status = "tool_error"
	StatusUnknown    Status = "unknown_tool"
	StatusInvalid    Status = "invalid_arguments"
	StatusUnapproved Status = "not_approved"
	StatusRefused    Status = "refused"
	// StatusUnsure: it was sent before its process was lost, and not again.
	StatusUnsure  Status = "unsure"
	StatusLimit   Status = "limit"
	StatusTimeout Status = "timeout"
	StatusFailed  Status = "failed"
)

// An Outcome is the outcome of a call.
type Outcome struct {
	Call   schemas.ToolCall
	Tool   schemas.Tool
	Result schemas.ToolResult
	Status Status
	// Reason is why it asked, if it did not run for that.
	Reason Reason
	// Sent is set if the call may have reached its server, whatever the result.
	Sent bool
	// Acted is set if it may have had an effect there.
	Acted bool
	// DecidedBy names the approver of a call that needs one.
	DecidedBy string
	// Took excludes Waited, the time that a person took to decide.
	Took, Waited time.Duration
}

// Execute runs the calls of one answer concurrently, up to the handler's limit, and yields their
// outcomes in call order, each as soon as it and all before it are complete. Every call gets
// exactly one outcome. Breaking off cancels the running calls; Execute returns when all have
// ended.
func (t *Turn) Execute(ctx context.Context, calls []schemas.ToolCall) iter.Seq[Outcome] {
	return func(yield func(Outcome) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()

		started := time.Now()
		calls := t.withoutNulls(calls)
		round := t.openRound(calls)
		outcomes := make([]chan Outcome, len(calls))
		slots := make(chan struct{}, t.h.parallel)
		keys, open := round.keysOf(calls), make(map[string]bool)
		for i, call := range calls {
			if _, again := t.repeats.find(keys[i]); again || open[keys[i]] {
				continue // it waits for the one before it
			}
			open[keys[i]] = keys[i] != ""
			outcomes[i] = make(chan Outcome, 1)
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				outcomes[i] <- round.run(ctx, i, call)
			})
		}
		defer func() { t.left -= max(0, time.Since(started)-round.waited()-t.clocks.takeThinkingTime()) }()
		for i, call := range calls {
			out := t.outcome(ctx, round, i, call, outcomes[i], keys[i])
			out.Acted = out.Sent && t.MayAct(out.Tool)
			reading, foreign := t.reading(out)
			if t.cfg.Show != nil {
				if out.Result = t.shown(ctx, out.Result, reading.Origin); out.Result.Cut != nil {
					reading, foreign = t.reading(out) // only what the model is shown was read
				}
			}
			if out.Status == StatusOK {
				t.repeats.add(keys[i], out)
			}
			switch read := out.Result.Server != "" && out.Sent && out.Status != StatusTimeout; { // an error has text of its server too
			case read && foreign:
				t.flow.Readings = append(t.flow.Readings, reading)
			case read, out.Status == StatusOK && t.saysOwn(out.Tool):
				t.flow.Own = append(t.flow.Own, reading.Text)
			}
			if !yield(out) {
				return
			}
		}
	}
}

// shown returns a result as the model is shown it. Its whole text is kept with its origin.
func (t *Turn) shown(ctx context.Context, result schemas.ToolResult, origin schemas.Origin) schemas.ToolResult {
	server := result.Server
	if origin.IsInside() {
		result.Server = string(origin)
	}
	result = t.cfg.Show(ctx, result)
	result.Server = server
	return result
}

// reading returns the reading of a result; ok is false if the operator wrote its text. What a tool of
// the host reads on in may be any earlier result of its server.
func (t *Turn) reading(out Outcome) (r Reading, ok bool) {
	r, ok = t.cfg.Catalogue.Result(out.Result, &out.Call)
	if inside := schemas.InsideOrigin(out.Result.Server); out.Tool.Server == "" && slices.Contains(t.flow.Origins(), inside) {
		r.Origin, r.Public = inside, false
	}
	return r, ok
}

// outcome waits for the outcome of a call; one that was not started repeats an earlier one.
func (t *Turn) outcome(ctx context.Context, r *round, i int, call schemas.ToolCall, started <-chan Outcome, key string) Outcome {
	if started != nil {
		return <-started
	}
	if before, again := t.repeats.find(key); again && i < r.allowed {
		return t.repeat(call, before)
	}
	return r.run(ctx, i, call) // the one before it failed
}

// call runs a tool of the host or of a server.
func (t *Turn) call(ctx context.Context, tool schemas.Tool, args json.RawMessage) (schemas.ToolResult, error) {
	if tool.Server == "" {
		for _, own := range t.cfg.Host {
			if own.Info.Name == tool.Name {
				return own.Call(ctx, args)
			}
		}
	}
	return t.h.caller.CallFor(ctx, t.who, tool.Server, tool.ToolName, args)
}

// failure returns the outcome that explains to the model why a call failed.
func failure(call schemas.ToolCall, tool schemas.Tool, status Status, format string, args ...any) Outcome {
	return Outcome{
		Call:   call,
		Tool:   tool,
		Status: status,
		Result: schemas.ToolResult{
			ToolName: cmp.Or(tool.ToolName, call.Function.Name), Output: schemas.TextOutput(fmt.Sprintf(format, args...)),
			ID: call.ID, Server: tool.Server, IsError: true,
		},
	}
}
