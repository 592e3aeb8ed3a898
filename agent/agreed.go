package agent

import (
	"context"
	"fmt"
	"slices"

	"molar/agent/answer"
	"molar/agent/prompts"
	"molar/schemas"
	"molar/toolhandler"
)

// tell adds a text of the host to the answer. A client that wants JSON gets it as a warning, which
// keeps its answer valid.
func (w *task) tell(text string) error {
	if w.turn.wantsJSON() {
		return w.out.Warn(answer.CodeNotice, text)
	}
	w.out.StartParagraph()
	return w.out.Say(text)
}

// requestApproval tells the person which calls were denied, as nobody is asked, and which are pending
// approval, stores these, and reports the dropped ones. A client that wants JSON approves by a rule of
// the config.
func (a *Agent) requestApproval(ctx context.Context, w *task, e *ending) error {
	if denied := e.answer.denied; len(denied) > 0 {
		if err := w.tell(prompts.Denied(e.question.lang, denied)); err != nil {
			return err
		}
	}
	pending := e.answer.pending
	if err := w.reportDropped(e.question, pending); err != nil || len(pending) == 0 || a.cfg.Pauses == nil {
		return err
	}
	notice := pending.Notice(e.question.lang, w.out.Shown())
	if w.turn.wantsJSON() {
		return w.tell(notice)
	}
	if err := pending.Keep(ctx, a.pausesOf(w), w.turn.Owner, w.turn.ConversationID, notice, a.cfg.Now()); err != nil {
		return w.out.Warn(answer.CodeNotKept, "the calls pending approval could not be stored, so they cannot be approved: "+err.Error())
	}
	if err := a.hold(ctx, w, e.question.lang, pending); err != nil {
		return w.out.Warn(answer.CodeNotKept, "the calls pending approval could not be shown to their approvers: "+err.Error())
	}
	return w.tell(notice)
}

// whom returns who is asked about calls, and the person whom servers can reach; nil for nobody.
func (w *task) whom() (toolhandler.Approver, toolhandler.Person) {
	if w.turn.AskNever {
		return nil, nil
	}
	return w.turn.Approver, w.turn.Person
}

// caller returns the person for whom servers are called as themselves.
func (w *task) caller() schemas.Caller {
	if w.turn.AskNever {
		return schemas.Caller{}
	}
	return w.turn.Caller
}

// reportDropped tells the person which pending calls their message did not approve, as they may
// take it for an approval. Calls that are pending again have their own notice.
func (w *task) reportDropped(q question, again pendingCalls) error {
	var tools []string
	for _, call := range q.dropped.Without(again).Calls() {
		tools = append(tools, call.Function.Name)
	}
	if len(tools) == 0 {
		return nil
	}
	slices.Sort(tools)
	return w.tell(prompts.Dropped(q.lang, slices.Compact(tools)))
}

// takeApproval reads the calls pending approval, and sorts them as approved or dropped by the
// question.
func (a *Agent) takeApproval(ctx context.Context, w *task, q question, past recalled) (question, error) {
	if a.cfg.Pauses == nil || past.last() == nil {
		return q, nil
	}
	said := q.asked
	if said != q.words { // what others wrote agrees to nothing
		said = ""
	}
	fault := func(err error) (question, error) {
		return q, fmt.Errorf("%w: read the call pending approval: %w", ErrStore, err)
	}
	if reply, err := a.stillWaiting(ctx, w, said, past.last().Answer); err != nil {
		return fault(err)
	} else if reply != nil {
		q.reply = reply
		return q, nil
	}
	pending, agreed, err := take(ctx, a.cfg.Pauses, w.turn.Owner, said, past.last().Answer)
	if err != nil {
		return fault(err)
	}
	approved, refused, err := a.settle(ctx, w, pending, agreed)
	if err != nil {
		return fault(err)
	}
	for _, c := range pending {
		a.audit(ctx, toolhandler.Ruling{
			Owner: w.turn.Owner, TurnID: w.turn.ID, Started: w.turn.Began, Call: *c.Call, Tool: a.toolNamed(c.Call.Function.Name), How: toolhandler.InMessage,
			Decision: toolhandler.Decision{Allowed: approved.has(*c.Call)},
		})
	}
	if q.dropped = pending.Without(approved); len(approved) == 0 {
		q.reply = refused
		return q, nil
	}
	q.approved = approved
	w.out.Mark("6.5", "The person said yes to the calls that waited", "calls", len(approved))
	return q, nil
}

// grants returns the person's approvals that last beyond one call.
func (a *Agent) grants(w *task) toolhandler.Grants {
	if a.cfg.Grants == nil {
		return nil
	}
	return standing{Grants: a.cfg.Grants, Owner: w.turn.Owner, Conversation: w.turn.ConversationID, Started: w.turn.Began, Log: a.log}
}

// audit reports a decision about a call.
func (a *Agent) audit(ctx context.Context, r toolhandler.Ruling) {
	toolhandler.Audit(a.log, r)
	if a.cfg.Audit != nil {
		a.cfg.Audit(ctx, r)
	}
}
