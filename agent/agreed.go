package agent

import (
	"context"
	"fmt"

	"molar/agent/consent"
	"molar/toolhandler"
)

// await tells the person which calls wait for their yes, and keeps them. A client that wants
// JSON is told in a warning, and gives its yes by a rule of the config.
func (a *Agent) await(ctx context.Context, w task, e *ending) error {
	waiting := e.answer.waiting
	if len(waiting) == 0 || a.cfg.Pauses == nil {
		return nil
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

// agreed are the calls that the question approves.
func (a *Agent) agreed(ctx context.Context, w task, q question, past recalled) (consent.Waiting, error) {
	if a.cfg.Pauses == nil || past.last() == nil {
		return nil, nil
	}
	agreed, err := consent.Take(ctx, a.cfg.Pauses, w.turn.Owner, q.asked, past.last().Answer)
	if err != nil {
		return nil, fmt.Errorf("%w: read what waits for a yes: %w", ErrStore, err)
	}
	if len(agreed) > 0 {
		w.out.Mark("6.5", "The person said yes to the calls that waited", "calls", len(agreed))
	}
	return agreed, nil
}

// grants are what the person allowed beyond one call.
func (a *Agent) grants(w task) toolhandler.Grants {
	if a.cfg.Grants == nil {
		return nil
	}
	return consent.Standing{Grants: a.cfg.Grants, Owner: w.turn.Owner, Conversation: w.turn.ConversationID, Log: a.log}
}
