package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"

	"molar/agent/answer"
	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// approvesOwn reports whether the person who asks may decide about their own calls of tools with these
// approvers. A turn without an owner is that of the operator, where nobody else is known.
func (w *task) approvesOwn(approvers []string) bool {
	return w.turn.Owner == "" || w.turn.Rights.ApprovesOwn(approvers)
}

// hold stores the pending calls that need approvers, each by itself, so that the approvers find and
// decide about them. The person's next yes runs those that were approved by then.
func (a *Agent) hold(ctx context.Context, w *task, lang string, pending pendingCalls) error {
	for _, c := range pending {
		if len(c.tool.Rules.Approvers) == 0 {
			continue
		}
		ask := Ask{Call: *c.Call, Tool: c.tool, Reason: c.reason, Language: lang}
		held := answer.Held{Owner: w.turn.Owner, Approval: answer.Approval{
			ID: answer.HeldID(c.Call.ID), Token: rand.Text(), Tool: c.tool.Name, Server: c.tool.Server, TurnID: w.turn.ID, CallID: c.Call.ID,
			Arguments: argumentsOf(c.Call.Function.Arguments), Shown: ShownArguments(ask), Question: Explain(ask), Why: c.reason.String(), Reason: c.reason,
			Scopes: []toolhandler.Scope{Once}, Approvers: c.tool.Rules.Approvers, Person: w.turn.Caller.Name, Expires: a.cfg.Now().Add(keepFor).UTC(),
		}}
		state, err := json.Marshal(held)
		if err != nil {
			return err
		}
		if err := a.pausesOf(w).KeepTurn(ctx, schemas.PauseRecord{
			Owner: w.turn.Owner, ConversationID: w.turn.ConversationID, CallIDs: []string{held.ID}, State: state, Expires: held.Expires,
		}); err != nil {
			return err
		}
		if a.cfg.OnHeld != nil {
			a.cfg.OnHeld(ctx, held)
		}
	}
	return nil
}

// argumentsOf returns a call's arguments as JSON; a string if they are none.
func argumentsOf(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return schemas.TextOutput(text)
}

// held returns what is stored for the approvers of a call; nil if nothing is.
func (a *Agent) held(ctx context.Context, owner, call string, read func(context.Context, string, string) (json.RawMessage, bool, error)) (*answer.Held, error) {
	state, found, err := read(ctx, owner, answer.HeldID(call))
	if err != nil || !found {
		return nil, err
	}
	h := new(answer.Held)
	return h, json.Unmarshal(state, h)
}

// stillWaiting returns the host's own answer to a yes, if one of the calls that it is about still waits
// for its approvers; else nil. Nothing changes then: a later yes is about the same calls.
func (a *Agent) stillWaiting(ctx context.Context, w *task, said, before string) (reply func(lang string) string, _ error) {
	notice, lang := prompts.FindWaiting(before)
	if notice == "" || !approves(said, prompts.NamedIn(notice), lang) {
		return nil, nil
	}
	state, found, err := a.cfg.Pauses.GetKeptTurn(ctx, w.turn.Owner, idOf(notice))
	if err != nil || !found {
		return nil, err
	}
	var parts []schemas.Part
	if err := json.Unmarshal(state, &parts); err != nil {
		return nil, err
	}
	for _, p := range parts {
		approvers := a.toolNamed(p.Call.Function.Name).Rules.Approvers
		if len(approvers) == 0 || w.approvesOwn(approvers) {
			continue
		}
		h, err := a.held(ctx, w.turn.Owner, p.Call.ID, a.cfg.Pauses.GetKeptTurn)
		if err != nil {
			return nil, err
		}
		if h != nil && h.Decision == nil {
			return func(string) string { return prompts.StillWaiting(lang, approvers) + "\n\n" + notice }, nil
		}
	}
	return nil, nil
}

// unapproved answers a yes without that of the approvers. It is saved: both say what became of the call.
func (a *Agent) unapproved(ctx context.Context, w *task, e *ending) error {
	if err := w.out.Say(e.question.reply(e.question.lang)); err != nil {
		return err
	}
	e.subject = a.subject(w, e.past)
	d := &answer.Done{Finish: providers.FinishStop}
	if err := a.save(ctx, w, a.record(w, e, ""), d); err != nil {
		return err
	}
	return a.done(ctx, w, e.question.lang, d)
}

// settle returns which of the taken calls may run: after the person's yes those without approvers, and
// those that an approver has approved, or the person may approve. refused is the host's own answer if
// approvers refused some, else nil. What is stored for approvers of the calls is deleted.
func (a *Agent) settle(ctx context.Context, w *task, pending pendingCalls, agreed bool) (approved pendingCalls, refused func(lang string) string, _ error) {
	for _, c := range pending {
		approvers := a.toolNamed(c.Call.Function.Name).Rules.Approvers
		h, err := a.held(ctx, w.turn.Owner, c.was, a.cfg.Pauses.TakeKeptTurn)
		switch {
		case err != nil:
			return nil, nil, err
		case !agreed:
			continue
		case len(approvers) == 0:
		case h != nil && h.Decision != nil && h.Decision.Allowed:
			c.approver, c.by, c.byName = true, h.Decision.By, h.Decision.ByName
		case w.approvesOwn(approvers):
			c.approver, c.by, c.byName = true, w.turn.Owner, w.turn.Caller.Name
		default:
			if h != nil && h.Decision != nil {
				name, tool := h.Decision.ByName, c.Call.Function.Name
				refused = func(lang string) string { return prompts.RefusedBy(lang, tool, name) }
			}
			continue
		}
		approved = append(approved, c)
	}
	return approved, refused, nil
}

// toolNamed returns a tool by its offered name; zero if no server has it now.
func (a *Agent) toolNamed(name string) schemas.Tool {
	tools := a.cfg.Tools.Tools()
	if i := slices.IndexFunc(tools, func(t schemas.Tool) bool { return t.Name == name }); i >= 0 {
		return tools[i]
	}
	return schemas.Tool{}
}

// consents returns the calls as approvals.
func (w pendingCalls) consents() []toolhandler.Consent {
	all := make([]toolhandler.Consent, len(w))
	for i, call := range w.Calls() {
		all[i] = toolhandler.Consent{ToolCall: call, Approver: w[i].approver, By: w[i].by, ByName: w[i].byName}
	}
	return all
}
