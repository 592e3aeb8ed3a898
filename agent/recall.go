package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"molar/agent/answer"
	"molar/agent/memory"
	"molar/agent/subject"
	"molar/schemas"
)

// recalled is the conversation as a turn reads it.
type recalled struct {
	// summary replaces all before the exchanges.
	summary   string
	exchanges []Exchange
	// lang is the language of the oldest exchange that reveals one: unlike the new question's it is the
	// same in each turn. It is empty if none does.
	lang string
	// subject is the conversation's last self-contained question.
	subject string
	// read are the origins of the texts of others that the conversation has seen.
	read []schemas.Origin
	// foreign is set when the exchanges were judged by no guard or another one: a client sent them,
	// or another assistant had them.
	foreign bool
	// handed is set when some of the exchanges were for people at the desk, and no guard judged them.
	handed bool
	// unjudged is set when code is not sure that the last exchange belongs to the topic.
	unjudged bool
	// finished is the turn that was saved under the same key.
	finished *schemas.Finished
}

// isEmpty reports whether the conversation has no earlier turns.
func (r recalled) isEmpty() bool { return len(r.exchanges) == 0 && r.summary == "" }

// unsummarised counts the last exchanges without a summary.
func (r recalled) unsummarised() (n int) {
	for _, x := range slices.Backward(r.exchanges) {
		if x.Piece != "" || x.Condensed != "" {
			break
		}
		n++
	}
	return n
}

// open returns the last question if it has no answer.
func (r recalled) open() string {
	if n := len(r.exchanges); n > 0 && r.exchanges[n-1].Answer() == "" {
		return r.exchanges[n-1].Question
	}
	return ""
}

// last returns the last exchange of the conversation, or nil.
func (r recalled) last() *subject.Exchange {
	if len(r.exchanges) == 0 {
		return nil
	}
	x := r.exchanges[len(r.exchanges)-1]
	return &subject.Exchange{Question: x.Question, Answer: x.Answer(), Unjudged: r.unjudged}
}

// heldSigns is how many questions before a new one still count together with it, when it describes
// a sign of an emergency: what a parent reports bit by bit.
const heldSigns = 5

// questions returns the last questions of the conversation, the newest last.
func (r recalled) questions() (all []string) {
	for _, x := range r.exchanges[max(0, len(r.exchanges)-heldSigns):] {
		all = append(all, x.Question)
	}
	return all
}

// language returns the conversation's language: that of the last question whose language is sure,
// or as guessed since. It applies to messages such as "ok" or "3?".
func (r recalled) language() (lang string) {
	from := len(r.exchanges)
	for sure := false; from > 0 && !sure; {
		from--
		_, sure = subject.Guess(r.exchanges[from].Question)
	}
	for _, x := range r.exchanges[from:] {
		lang, _ = subject.Detect(x.Question, lang)
	}
	return lang
}

// withLanguage returns r with its language.
func (r recalled) withLanguage() recalled {
	for _, x := range r.exchanges {
		if r.lang, _ = subject.Guess(x.Question); r.lang != "" {
			break
		}
	}
	return r
}

// recall waits for the conversation. Without memory the turn continues with a warning.
func (a *Agent) recall(ctx context.Context, w *task, first First) (recalled, error) {
	switch {
	case w.turn.Stateless:
		w.out.Trace.Memory("stateless")
		return a.judgeHistory(w, recalled{exchanges: a.sentFiles(ctx, w, a.traceSent(ctx, w)), foreign: true}).withLanguage(), nil
	case !w.keeper.Reads():
		w.out.Trace.Memory("none")
		return recalled{}, nil
	case w.keeper.Fresh(): // there is nothing to read, so the turn does not wait for the lease
		w.out.Trace.Memory("new")
		w.out.Mark("3.1", "Conversation ID: "+w.turn.ConversationID, "known", false)
		return recalled{}, nil
	}
	opening, err := w.keeper.Opening(ctx)
	if err != nil {
		return recalled{}, a.withoutMemory(ctx, w, first, err)
	}
	w.out.Trace.Memory("read")
	w.out.Mark("3.1", "Conversation ID: "+opening.ConversationID, "known", opening.Known)
	past := a.recallFiles(ctx, w, recallFrom(opening))
	past.foreign = opening.Assistant != "" && opening.Assistant != w.assistant.Name
	w.out.Mark("4.1", "Summary and context read", "summary_length", len(past.summary), "exchanges", len(past.exchanges))
	return a.judgeHistory(w, past).withLanguage(), nil
}

func recallFrom(o schemas.Opening) recalled {
	pieces, condensed := make(map[int64]string, len(o.Pieces)), make(map[int64]string)
	for _, p := range o.Pieces {
		pieces[p.Seq], condensed[p.Seq] = p.Text, p.Condensed
	}
	past := recalled{
		summary: o.Compaction.Text, exchanges: Exchanges(o.Messages, pieces, condensed),
		subject: o.Subject, read: toOrigins(o.ServersRead), finished: o.Finished,
	}
	if o.Partial && o.Covers > o.Compaction.Covers { // only the whole summary covers the messages left out
		past.summary = o.Summary
	}
	return past
}

// withoutMemory lets a turn continue whose conversation could not be read, if that is allowed.
func (a *Agent) withoutMemory(ctx context.Context, w *task, first First, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, memory.ErrBusy):
		return fmt.Errorf("%w: another turn of this conversation is running; ask again when it has ended", ErrBusy)
	case errors.Is(err, memory.ErrNoParent) && w.turn.Parent != nil:
		return fmt.Errorf("%w: this conversation has no turn %q to continue from", ErrParent, *w.turn.Parent)
	case a.cfg.MemoryRequired && len(first.Kinds) == 0 && !w.turn.ReadOnly:
		return fmt.Errorf("%w: the conversation could not be read: %w", ErrStore, err)
	}
	w.keeper.GiveUp()
	w.out.Trace.Memory("unreachable: " + err.Error())
	if w.turn.ReadOnly {
		return w.out.WarnOfHost(answer.CodeStoreDown, "", "the conversation could not be read, so this turn runs without memory: "+err.Error())
	}
	return w.out.Lose("the conversation could not be read, so this turn runs without memory and is not saved: " + err.Error())
}

// judgeHistory drops the exchanges that code is sure are outside the topic, and those that end in one of
// our refusals, of those that this topic's guard did not judge when they were asked: a foreign history's,
// and those that were for the desk.
func (a *Agent) judgeHistory(w *task, past recalled) recalled {
	past.handed = slices.ContainsFunc(past.exchanges, Exchange.isUnjudged)
	if w.guard == nil || !past.foreign && !past.handed || a.cfg.Off.History {
		return past
	}
	var kept []Exchange
	var last *subject.Exchange
	for _, x := range past.exchanges {
		unjudged := past.foreign || x.isUnjudged()
		if unjudged {
			v := w.guard.ByCode(x.Question, last)
			if v.Sure && !v.Pass || w.guard.Refused(x.Answer()) {
				continue
			}
			unjudged = !v.Sure
		}
		kept = append(kept, x)
		last = &subject.Exchange{Question: x.Question, Answer: x.Answer(), Unjudged: unjudged}
	}
	past.unjudged = last != nil && last.Unjudged
	if dropped := len(past.exchanges) - len(kept); dropped > 0 {
		w.out.Mark("4.1", "Exchanges left out of the history: they do not belong to the topic", "exchanges", dropped)
	}
	past.exchanges = kept
	return past
}
