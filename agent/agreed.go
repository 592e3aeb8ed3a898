package agent

import (
	"context"
	"fmt"
	"slices"

	"molar/agent/prompts"
	"molar/schemas"
	"molar/toolhandler"
)

// await tells the person which calls wait for their yes, and keeps them, and which wait no more. A client that
// wants JSON is told in a warning, and gives its yes by a rule of the config.
func (a *Agent) await(ctx context.Context, w task, e *ending) error {
	waiting := e.answer.waiting
	if err := w.tellDropped(e.question, waiting); err != nil || len(waiting) == 0 || a.cfg.Pauses == nil {
		return err
	}
	notice := waiting.Notice(e.question.lang, w.out.Shown())
	if w.turn.JSON {
		return w.out.Warn(notice)
	}
	if err := waiting.Keep(ctx, a.cfg.Pauses, w.turn.Owner, w.turn.ConversationID, notice, a.cfg.Now()); err != nil {
		return w.out.Warn("what needs a yes could not be kept, so that none can be given: " + err.Error())
	}
	w.out.Part()
	return w.out.Say(notice)
}

// tellDropped tells the person which calls their message was no yes to: a message that they take for one must
// not pass for it in silence. What waits again is told by its own notice.
func (w task) tellDropped(q question, again Waiting) error {
	var tools []string
	for _, call := range q.dropped.Without(again).Calls() {
		tools = append(tools, call.Function.Name)
	}
	if len(tools) == 0 {
		return nil
	}
	slices.Sort(tools)
	told := prompts.Dropped(q.lang, slices.Compact(tools))
	if w.turn.JSON {
		return w.out.Warn(told)
	}
	w.out.Part()
	return w.out.Say(told)
}

// agreed finds the calls that waited for a yes, and whether the question is one.
func (a *Agent) agreed(ctx context.Context, w task, q question, past recalled) (question, error) {
	if a.cfg.Pauses == nil || past.last() == nil {
		return q, nil
	}
	waited, agreed, err := Take(ctx, a.cfg.Pauses, w.turn.Owner, q.asked, past.last().Answer)
	if err != nil {
		return q, fmt.Errorf("%w: read what waits for a yes: %w", ErrStore, err)
	}
	tools := a.cfg.Tools.Tools()
	for _, call := range waited.Calls() {
		ruling := toolhandler.Ruling{
			Owner: w.turn.Owner, TurnID: w.turn.ID, Call: call, How: toolhandler.InMessage, Decision: toolhandler.Decision{Allowed: agreed},
		}
		if i := slices.IndexFunc(tools, func(t schemas.Tool) bool { return t.Name == call.Function.Name }); i >= 0 {
			ruling.Tool = tools[i]
		}
		toolhandler.Audit(a.log, ruling)
	}
	if !agreed {
		q.dropped = waited
		return q, nil
	}
	q.agreed = waited
	w.out.Mark("6.5", "The person said yes to the calls that waited", "calls", len(waited))
	return q, nil
}

// grants are what the person allowed beyond one call.
func (a *Agent) grants(w task) toolhandler.Grants {
	if a.cfg.Grants == nil {
		return nil
	}
	return Standing{Grants: a.cfg.Grants, Owner: w.turn.Owner, Conversation: w.turn.ConversationID, Log: a.log}
}
