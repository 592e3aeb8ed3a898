package agent

import (
	"cmp"
	"context"
	"fmt"

	"molar/agent/answer"
	"molar/agent/person"
	"molar/agent/prompts"
	"molar/agent/subject"
	"molar/providers"
	"molar/schemas"
)

// Handovers knows which conversations of visitors are handed over to people at the desk.
type Handovers interface {
	// Open returns the hand-over of a conversation that is not closed.
	Open(ctx context.Context, owner, conversation string) (h schemas.Handover, ok bool, err error)
	// Say passes on to the desk what a person wrote. A turn that another process continues says the same
	// again.
	Say(ctx context.Context, h schemas.Handover, turnID, text string) error
	// FoundNothing reports whether the newest saved turn of a conversation found nothing.
	FoundNothing(ctx context.Context, owner, conversation string) (bool, error)
}

// Emergency returns what an assistant tells somebody whose message describes an emergency, in the
// language of the message, and false if it describes none. It asks no model. An unknown assistant, and
// one without a topic, knows no emergencies.
func (a *Agent) Emergency(assistant, text string) (notice string, ok bool) {
	as := a.assistants[assistant]
	if as == nil {
		return "", false
	}
	kinds := a.judges.Look(as.Topic, text).Kinds
	if len(kinds) == 0 {
		return "", false
	}
	lang, _ := subject.Detect(text, "")
	return subject.Notice(a.cfg.Guards[as.Topic].Topic(), kinds, lang), true
}

// A contact is what a turn has to do with the people at the desk; the zero contact is nothing.
type contact struct {
	// reachable is set if the desk could be asked for.
	reachable bool
	// open is the hand-over of the conversation that is not closed; nil if there is none, or if it reached nobody.
	open *schemas.Handover
	// wants is what the question says of a person.
	wants person.Request
}

// silences reports whether people at the desk answer the turn, and no model.
func (c contact) silences() bool { return c.open != nil && c.open.Silences() }

// speaks reports whether the question is for people at the desk, or asks for one, so that nothing refuses it.
func (c contact) speaks() bool { return c.silences() || c.wants != person.Not }

// contact reads what the turn has to do with the desk. If that cannot be read, only an emergency is
// answered: somebody at the desk may be talking to the person.
func (a *Agent) contact(ctx context.Context, w *task, q question) (contact, error) {
	if !w.turn.Visitor || a.cfg.Handovers == nil {
		return contact{}, nil
	}
	h, ok, err := a.cfg.Handovers.Open(ctx, w.turn.Owner, w.turn.ConversationID)
	if err != nil {
		if _, urgent := a.Emergency(w.assistant.Name, q.asked); urgent && ctx.Err() == nil {
			a.log.Warn("whether the desk answers is not known; the question describes an emergency", "turn", w.turn.ID, "error", err)
			return contact{}, nil
		}
		return contact{}, cmp.Or(ctx.Err(), fmt.Errorf("%w: whether the desk answers in this conversation could not be read: %w", ErrStore, err))
	}
	c := contact{reachable: true, wants: person.In(q.typed)}
	if ok && h.State != schemas.HandoverFailed {
		c.open = &h
	}
	return c, nil
}

// handOver answers a question for which there is no need of a model: one that goes to the desk, and one
// that only asks for a person. answered is not set for others, such as an emergency while nobody at the
// desk answers.
func (a *Agent) handOver(ctx context.Context, w *task, e *ending, first First) (answered bool, err error) {
	if !e.contact.speaks() {
		return false, nil
	}
	var kinds []string
	if w.guard != nil {
		kinds = a.judges.kinds(w.assistant.Topic, e.question.asked, e.past.questions(), first)
	}
	switch {
	case e.contact.silences():
		return true, a.passOn(ctx, w, e, kinds)
	case e.contact.wants == person.Only && len(kinds) == 0:
		return true, a.offerPerson(ctx, w, e)
	}
	return false, nil
}

// passOn passes the question on to the desk, after the notice of an emergency. Where that fails, the
// person is told that nobody has seen it.
func (a *Agent) passOn(ctx context.Context, w *task, e *ending, kinds []string) (err error) {
	lang := e.question.lang
	w.out.Language(lang, e.question.langSure)
	e.subject = a.subject(w, e.past)
	w.record(ctx, e.question, e.past, e.subject, "")
	if len(kinds) > 0 {
		if e.question.notice, err = a.notify(w, e.question, kinds); err != nil {
			return err
		}
	}
	d := &answer.Done{Finish: providers.FinishStop, WithDesk: true}
	if err := a.cfg.Handovers.Say(ctx, *e.contact.open, w.turn.ID, e.question.typed); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d.WithDesk = false
		a.log.Error("a message could not be passed on to the desk", "turn", w.turn.ID, "error", err)
		if err := w.tell(prompts.NotPassedOn(lang)); err != nil {
			return err
		}
	}
	w.out.Mark("2.4", "The desk answers, no model", "handover", e.contact.open.ID, "passed_on", d.WithDesk)
	record := a.record(w, e, "")
	if d.WithDesk {
		record.Rounds[0].Unanswered = schemas.UnansweredDesk
	}
	if err := a.save(ctx, w, record, d); err != nil {
		return err
	}
	return a.done(ctx, w, lang, d)
}

// offerPerson answers a question that only asks for a person: the client shows the form that reaches one.
func (a *Agent) offerPerson(ctx context.Context, w *task, e *ending) error {
	lang := e.question.lang
	w.out.Language(lang, e.question.langSure)
	e.subject = a.subject(w, e.past)
	d := &answer.Done{Finish: providers.FinishStop, Handover: a.offered(ctx, w, e)}
	if err := w.tell(prompts.OfferPerson(lang, d.Handover != "")); err != nil {
		return err
	}
	if err := a.save(ctx, w, a.record(w, e, ""), d); err != nil {
		return err
	}
	return a.done(ctx, w, lang, d)
}

// offered returns why a hand-over is offered beside the answer, empty if none is: the person asks for
// somebody, or this turn and the one before it found nothing. It is asked before the turn is saved.
func (a *Agent) offered(ctx context.Context, w *task, e *ending) schemas.HandoverReason {
	switch {
	case !e.contact.reachable || e.contact.open != nil:
		return ""
	case e.contact.wants != person.Not:
		w.out.Mark("2.5", "A person is offered: the question asks for one")
		return schemas.HandoverWords
	case e.question.notice != "" || len(e.answer.unapproved) > 0 || !w.out.Trace.FoundNothing():
		return ""
	}
	before, err := a.cfg.Handovers.FoundNothing(ctx, w.turn.Owner, w.turn.ConversationID)
	if err != nil {
		a.log.Warn("whether the turn before found anything could not be read, so no person is offered", "turn", w.turn.ID, "error", err)
	}
	if err != nil || !before {
		return ""
	}
	w.out.Mark("2.5", "A person is offered: this turn and the one before it found nothing")
	return schemas.HandoverNotFound
}
