package toolhandler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"molar/schemas"
)

// A Rule is a rule that asks a person, or refuses.
type Rule string

// The rules, in the order in which they are applied; between them stand the policy allow and the
// standing approvals, which let a call run.
const (
	RuleDeny        Rule = "deny"
	RuleConfirm     Rule = "confirm"
	RuleDestructive Rule = "destructive"
	RuleFlow        Rule = "flow"
	RuleOrder       Rule = "order"
	// RuleUnsure: the call was sent before the host stopped, and no result came.
	RuleUnsure Rule = "unsure"
)

// A Reason is why a call asks.
type Reason struct {
	// Rule is empty if the call does not ask.
	Rule Rule `json:"rule,omitempty"`
	// Flows are the origins whose texts the call may take to another destination, Orders those whose
	// texts may have ordered it.
	Flows  []schemas.Origin `json:"flows,omitempty"`
	Orders []schemas.Origin `json:"orders,omitempty"`
	// Class is why the tool counts as one that may have an effect, in English.
	Class string `json:"class,omitempty"`
	// Records are what ids of the call stand for, for the question to a person.
	Records map[string][]string `json:"-"`
}

// needs returns what a standing approval must be about: each origin of a flow, and "" for the call.
// There is none where no standing approval counts.
func (r Reason) needs() []schemas.Origin {
	switch r.Rule {
	case RuleDeny, RuleConfirm, RuleUnsure:
		return nil
	}
	var all []schemas.Origin
	if r.Rule == RuleDestructive || len(r.Orders) > 0 {
		all = append(all, "")
	}
	for _, from := range r.Flows {
		all = append(all, from.Group())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// String returns the reason for the model and the log.
func (r Reason) String() string {
	var all []string
	switch r.Rule {
	case RuleDeny:
		if r.Class != "" {
			return onlyRead + r.Class
		}
		return "the config forbids it"
	case RuleConfirm:
		return "its policy is confirm"
	case RuleUnsure:
		return "it was sent before the host stopped, and no result came: it may have been done already"
	case RuleDestructive:
		all = append(all, "it announces itself as destructive")
	}
	if len(r.Flows) > 0 {
		all = append(all, "its arguments may take text of "+listed(r.Flows)+" somewhere else")
	}
	if len(r.Orders) > 0 {
		all = append(all, "text of "+listed(r.Orders)+" was read before, and the tool may change something: "+r.Class)
	}
	return strings.Join(all, "; ")
}

func listed(origins []schemas.Origin) string {
	names := make([]string, len(origins))
	for i, o := range origins {
		if names[i] = string(o); o.Server() != "" {
			names[i] = "server " + o.Server()
		}
	}
	return strings.Join(names, ", ")
}

// review applies the rules to a call, but for the standing approvals. free is set if the call runs
// only because its arguments are the person's own words, whose choice carries some bits.
func (t *Turn) review(tool schemas.Tool, args json.RawMessage) (r Reason, carried int, free bool) {
	if tool.Rules.Policy != schemas.PolicyDeny && len(tool.Rules.Approvers) > 0 {
		return Reason{Rule: RuleConfirm}, 0, false
	}
	switch tool.Rules.Policy {
	case schemas.PolicyAllow:
		return Reason{}, 0, false
	case schemas.PolicyConfirm:
		return Reason{Rule: RuleConfirm}, 0, false
	case schemas.PolicyDeny:
		return Reason{Rule: RuleDeny}, 0, false
	}
	a := t.actionOf(tool, args)
	a.class, a.why = classify(tool, func() *argSchema { return t.h.inputs.schemaOf(tool) }, a.leaves)
	if t.cfg.Visitor && a.class != Reads {
		return Reason{Rule: RuleDeny, Class: a.why}, 0, false
	}
	a.values = t.flow.cargoOf(a)
	for _, from := range t.flow.crossing(a) {
		switch allow, ruled := t.flow.rule(from, tool.Server); {
		case ruled && !allow:
			return Reason{Rule: RuleDeny, Flows: []schemas.Origin{from}}, 0, false
		case !ruled:
			r.Flows = append(r.Flows, from)
		}
	}
	carried, clean := bitsOf(a.values)
	if free = len(r.Flows) > 0 && clean && t.clean < maxClean && t.carried+carried <= maxBits; free {
		r.Flows = nil
	}
	switch {
	case a.class == Writes:
		r.Orders, r.Class = t.flow.Orders(tool.Server), a.why
	case t.flow.actsInside(a):
		r.Orders, r.Class = t.flow.Orders(tool.Server), "it asks for an address inside, where a request may change something"
	}
	switch {
	case destroys(tool):
		r.Rule = RuleDestructive
	case len(r.Flows) > 0:
		r.Rule = RuleFlow
	case len(r.Orders) > 0:
		r.Rule = RuleOrder
	}
	return r, carried, free
}

// rule returns the operator's rule for texts of an origin that go to a server.
func (f Flow) rule(from schemas.Origin, server string) (allow, ruled bool) {
	name := from.Server()
	if name == "" {
		name = map[schemas.Origin]string{schemas.FromFile: "file", schemas.FromClient: "client", schemas.FromPaste: "paste", schemas.FromWeb: "web"}[from.Group()]
	}
	for _, r := range f.Rules {
		if (r.From == "*" || r.From == name) && (r.To == "*" || r.To == server) {
			return r.Allow, true
		}
	}
	return false, false
}

// approve asks a person. It returns the arguments to call with, or the outcome that reports the
// refusal to the model. After [RuleUnsure] only an answer to that question counts.
func (r *round) approve(ctx context.Context, call schemas.ToolCall, tool schemas.Tool, args json.RawMessage, reason Reason) (json.RawMessage, *Outcome) {
	t, unsure := r.turn, reason.Rule == RuleUnsure
	decided := func(how How, d Decision) {
		t.audit(ctx, Ruling{Owner: t.cfg.Owner, TurnID: t.cfg.ID, Started: t.cfg.Started, Call: call, Tool: tool, Reason: reason, How: how, Decision: d})
	}
	refused := func(status Status, text string) (json.RawMessage, *Outcome) {
		out := failure(call, tool, status, "%s", text)
		out.Sent, out.Reason = unsure, reason
		return nil, &out
	}
	if reason.Rule == RuleDeny {
		decided(ByConfig, Decision{})
		if len(reason.Flows) > 0 {
			return refused(StatusRefused, fmt.Sprintf("%q was not executed: text of %s may not go to server %s", tool.Name, listed(reason.Flows), tool.Server))
		}
		return refused(StatusRefused, fmt.Sprintf("%q may not be called", tool.Name))
	}
	if !unsure {
		if given := t.consented(tool, call, true); given != nil { // its approval is already audited
			r.deciders.Store(call.ID, given.decider())
			return args, nil
		}
	}
	a := t.actionOf(tool, args)
	ask := Approval{Call: call, Tool: tool, Reason: reason, Language: t.cfg.Language, Check: func(arguments string) error {
		_, err := r.checkedArguments(tool, arguments)
		return err
	}}
	if !unsure {
		ask.Scopes, ask.Destinations = t.scopes(reason), destinations(tool, a.places)
	}
	if t.granted(ctx, ask) {
		decided(ByGrant, Decision{Allowed: true})
		return args, nil
	}
	reason.Records = r.flow.recordsOf(a)
	ask.Reason = reason
	if t.cfg.Approver == nil {
		decided(NobodyThere, Decision{})
		return refused(nobodyThere(tool, reason))
	}
	decision, late, err := r.ask(ctx, ask)
	own := err == nil && decision.Allowed && t.isOwn(tool, decision)
	switch decision.Allowed = decision.Allowed && !own; {
	case err != nil:
		decided(NoAnswer, Decision{})
	case own:
		decided(NotTheirs, Decision{})
	default:
		decided(InTurn, decision)
		r.deciders.Store(call.ID, decision.decider())
	}
	switch {
	case unsure && (err != nil || !decision.Allowed):
		return refused(StatusUnsure, fmt.Sprintf("%q was sent before the host stopped, and no result came; the person did not have it sent again: it was done, or is not wanted", tool.Name))
	case own:
		return refused(StatusUnapproved, fmt.Sprintf("%q was not executed: a member of %s must approve it, and the person who asks may not", tool.Name, strings.Join(tool.Rules.Approvers, " or ")))
	case late && len(tool.Rules.Approvers) > 0:
		return refused(StatusUnapproved, fmt.Sprintf("%q was not executed: a member of %s must approve it, and nobody did within %s; the request stays open for them", tool.Name, strings.Join(tool.Rules.Approvers, " or "), ApprovalTimeout))
	case late:
		return refused(StatusUnapproved, fmt.Sprintf("%q was not executed: it needs a person's approval, and nobody decided within %s, which counts as a no", tool.Name, ApprovalTimeout))
	case err != nil:
		return refused(StatusUnapproved, fmt.Sprintf("%q was not executed: nobody approved it", tool.Name))
	case !decision.Allowed && len(tool.Rules.Approvers) > 0:
		return refused(StatusRefused, fmt.Sprintf("%q was not executed: somebody who decides about it said no", tool.Name))
	case !decision.Allowed:
		return refused(StatusRefused, fmt.Sprintf("%q was not executed: the person said no", tool.Name))
	}
	if decision.Arguments != "" {
		if args, err = r.checkedArguments(tool, decision.Arguments); err != nil {
			return refused(StatusInvalid, fmt.Sprintf("the edited arguments of %q do not fit: %v", tool.Name, err))
		}
		ask.Destinations, decision.Destination = destinations(tool, t.actionOf(tool, args).places), ""
	}
	t.grant(ctx, ask, decision)
	return args, nil
}

// nobodyThere returns how a call ends that needs a person's approval when there is nobody to ask.
func nobodyThere(tool schemas.Tool, reason Reason) (Status, string) {
	switch {
	case reason.Rule == RuleUnsure:
		return StatusUnsure, fmt.Sprintf("%q was sent before the host stopped, and no result came: it may or may not have been done; it was not sent again, and nobody is there to ask; tell the person to check", tool.Name)
	case len(tool.Rules.Approvers) > 0:
		return StatusUnapproved, fmt.Sprintf("%q was not executed: a member of %s must approve it first", tool.Name, strings.Join(tool.Rules.Approvers, " or "))
	}
	return StatusUnapproved, fmt.Sprintf("%q was not executed: it needs a person's approval (%s), and nobody is there to ask", tool.Name, reason)
}

// checkedArguments parses arguments and checks them against the tool's schema.
func (r *round) checkedArguments(tool schemas.Tool, text string) (json.RawMessage, error) {
	args, err := parseArguments(text)
	if err != nil {
		return nil, err
	}
	args, _ = r.turn.h.inputs.withoutNulls(tool, args)
	return args, r.turn.h.inputs.check(tool, args)
}
