package agent

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"molar/agent/answer"
	"molar/agent/person"
	"molar/agent/prompts"
	"molar/agent/subject"
	"molar/providers"
	"molar/schemas"
)

// Warm makes the first questions quicker: it trains custom topics and loads a local small model. It
// blocks until the model is loaded; a caller that starts it in the background must wait for its
// end.
func (a *Agent) Warm(ctx context.Context) error {
	for _, g := range a.cfg.Guards {
		if g.Learns() {
			g.Prepare()
		}
	}
	if len(a.cfg.Guards) == 0 {
		return nil
	}
	route, err := a.cfg.Models.Pick(ctx, "", "", "")
	if err != nil {
		return err
	}
	return a.judges.Warm(ctx, route)
}

// look judges the question alone. It fails with a [*RefusedError] if code is sure that the question
// does not belong to the topic, and is not for the desk.
func (a *Agent) look(ctx context.Context, w *task, q question, c contact) (First, error) {
	first := a.judges.Look(w.assistant.Topic, q.asked)
	if w.turn.Resumed != nil { // it passed before
		return first, nil
	}
	if first.Refuses() && q.langSure && !mayBeYes(q.asked) && !c.speaks() {
		return first, decided(first.Verdict, w.out).Pass(ctx)
	}
	return first, nil
}

// judge returns the gate of a question. Where code is not sure, alone or as a follow-up, a model is
// asked concurrently; a message that describes an emergency always passes, and its notice is shown
// here, before anything that may fail or take long. about is the subject of the conversation.
func (a *Agent) judge(ctx context.Context, w *task, q question, past recalled, first First, about string) (*Gate, error) {
	a.setWatch(ctx, w, q, past)
	if w.guard == nil || len(q.approved) > 0 { // the previous question was judged
		a.armWatch(w, q, past, subject.Verdict{}, false)
		w.record(ctx, q, past, about, "")
		return openGate(), nil
	}
	if w.turn.Resumed != nil {
		a.armWatch(w, q, past, subject.Verdict{}, len(first.Kinds) > 0)
		w.out.Watching().Arm() // the verdict is not kept
		w.record(ctx, q, past, about, "")
		return a.passed(w, q, first.Kinds)
	}
	verdict, kinds := a.judges.Decide(ctx, Case{
		Topic: w.assistant.Topic, First: first, Route: w.route, Out: w.out, Group: w.group,
		Question: subject.Question{Text: q.asked, Lang: q.lang, AskLanguage: !q.langSure, Last: past.last()},
		Earlier:  past.questions(),
		Stream:   a.streamOf(w, q),
	})
	verdict.OnPass = func(v subject.Verdict) error {
		a.armWatch(w, q, past, v, len(kinds) > 0)
		w.record(ctx, q, past, about, "")
		return w.out.Step("2.1", "Guardrail result: PASSED")
	}
	if !verdict.Known() {
		return verdict, nil
	}
	if err := verdict.Pass(ctx); err != nil || len(kinds) == 0 {
		return verdict, err
	}
	var err error
	verdict.Emergency = subject.Deciding(w.guard.Topic(), kinds)
	verdict.Notice, err = a.notify(w, q, kinds)
	return verdict, err
}

// language sets the language of the question. Where code is not sure, it waits for the judge.
func (a *Agent) language(ctx context.Context, w *task, q question, verdict *Gate) (question, error) {
	if !q.langSure {
		named, err := verdict.Language(ctx)
		if err != nil {
			return q, err
		}
		if named != "" {
			q.lang, q.langSure = named, true
		}
	}
	w.out.Language(q.lang, q.langSure)
	return q, nil
}

// streamOf returns the judge's model calls, traced and counted as the turn's. They may begin before the
// language of the turn is settled, so they have that of the question.
func (a *Agent) streamOf(w *task, q question) func(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
		return a.stream(ctx, w, q.lang, &req)
	}
}

// askTime is how long one answer waits in all for the small model that is asked about it.
const askTime = 20 * time.Second

// setWatch sets the watch over the answer, if the assistant has a topic. The watch starts when
// armed. Where it doubts, the small model is asked, and only its no ends the answer; after an error, or
// askTime in all, it is not asked again. It also sets the filter of what must stand in a source. Offline answers are quotations or the host's own text, and are not
// watched.
func (a *Agent) setWatch(ctx context.Context, w *task, q question, past recalled) {
	if w.guard == nil || w.route.Offline {
		return
	}
	w.heard.conversation(q, past)
	w.heard.fetched(w.turn.Results...)
	if w.guard.Sourced() {
		w.out.Source(answer.NewSourced(w.heard.sources, w.guard.Claimable))
	}
	if a.cfg.Off.Watch {
		return
	}
	look := func(part, before string) (seen answer.Look) {
		seen.Score, seen.Strayed, seen.Sure = w.guard.Strays(part, before, w.heard.ground)
		return seen
	}
	silent, left := false, askTime
	watch := answer.NewWatch(look, func(part string, score float64) error {
		if silent || left <= 0 {
			return nil
		}
		began := a.cfg.Now()
		defer func() { left -= a.cfg.Now().Sub(began) }()
		strayed, err := a.judges.HasStrayed(ctx, Case{
			Topic: w.assistant.Topic, Route: w.route, Stream: a.streamOf(w, q),
			Question: subject.Question{Text: q.asked, Lang: w.out.Lang(), Last: past.last()},
		}, part)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			silent = true
			w.out.Mark("8.1", "The answer is in doubt, and no judge could be asked: it continues", "score", score, "error", err)
			return nil
		case !strayed:
			w.out.Mark("8.1", "The answer was in doubt, and the judge lets it continue", "score", score)
			return nil
		}
		w.out.Mark("8.1", "The answer left the subject and is cut", "score", score)
		return errStrayed
	})
	watch.Mind(w.heard.ground.Leads)
	w.out.Watch(watch)
}

// armWatch arms the watch over an answer that may leave the subject: the model reads text that the
// person did not write, or a question that code would have refused passed, by a model or after an
// emergency. In an emergency the watch doubts only what is sure: the right help is often not
// of the subject.
func (a *Agent) armWatch(w *task, q question, past recalled, v subject.Verdict, urgent bool) {
	switch {
	case urgent:
		w.out.Watching().Urge()
	case past.foreign && len(past.exchanges) > 0, past.handed, q.server != "", v.By != "code" && v.Score < 0,
		len(q.read) > 0, len(past.read) > 0, len(q.approved) > 0, w.turn.System != "", w.turn.Form != "", w.turn.describesAnswer(), len(w.turn.Results) > 0:
		w.out.Watching().Arm()
	}
}

var errStrayed = errors.New("the answer left the subject")

// cutShort ends an answer that has left the subject with a note. It saves the question, and the
// shown text without the part that left the subject.
func (a *Agent) cutShort(ctx context.Context, w *task, e *ending) error {
	good := strings.TrimSpace(w.out.Good())
	note := prompts.Strayed(w.out.Lang(), good != "")
	d := e.answer.done()
	d.Finish, d.Handover = providers.FinishContentFilter, a.offered(ctx, w, e)
	if err := w.tell(note); err != nil {
		return err
	}
	if !w.turn.wantsJSON() {
		good = joinParagraphs(good, note)
	} else if e.before == "" { // else it already begins with the notice
		good = joinParagraphs(e.question.notice, good)
	}
	shown := w.out.Answer()
	if err := a.requestApproval(ctx, w, e); err != nil { // else calls that wait would be lost with the cut
		return err
	}
	good = joinParagraphs(good, strings.TrimPrefix(w.out.Answer(), shown))
	record := a.record(w, e, "")
	record.Answer = joinParagraphs(e.before, good)
	if err := a.save(ctx, w, record, d); err != nil {
		return err
	}
	return a.done(ctx, w, e.question.lang, d)
}

// Notice returns the emergency notice that an answer begins with, or "".
func (a *Agent) Notice(answer string) string {
	for _, guard := range a.cfg.Guards {
		if notice, _ := subject.Leading(guard.Topic(), answer); notice != "" {
			return notice
		}
	}
	return ""
}

// EndsTurn reports whether an answer is an emergency notice that nothing may follow, so that its
// turn asks no model.
func (a *Agent) EndsTurn(answer string) bool {
	for _, guard := range a.cfg.Guards {
		if isWholeAnswer(guard, answer) {
			return true
		}
	}
	return false
}

// notify shows what to do in an emergency, and returns the text. A client that wants JSON gets it
// as a warning, which keeps its answer valid; where the notice is the whole answer, it is text,
// like a refusal.
func (a *Agent) notify(w *task, q question, kinds []string) (string, error) {
	w.out.Emergency(kinds)
	w.out.Mark("2.2", "Emergency notice", "kinds", strings.Join(kinds, ", "))
	text := subject.Notice(w.guard.Topic(), kinds, q.lang)
	if w.turn.wantsJSON() && !subject.Deciding(w.guard.Topic(), kinds).Ends {
		return text, w.out.Warn(answer.CodeNotice, text)
	}
	return text, w.out.Notice(text)
}

// endsWithNotice reports whether the emergency notice is the whole answer: its kind says so, or it
// is offline and nothing was found.
func (w *task) endsWithNotice(verdict *Gate, found findings) bool {
	return verdict.Emergency.Ends || verdict.Notice != "" && w.route.Offline && !w.turn.wantsJSON() && len(found.results) == 0
}

// finishNotice ends a turn whose answer is an emergency notice. It is saved like any answer; where
// nothing may follow the notice, the subject stays the previous one, so that later searches do not
// use the emergency's words.
func (a *Agent) finishNotice(ctx context.Context, w *task, e *ending) error {
	if isWholeAnswer(w.guard, e.question.notice) {
		e.subject = a.subject(w, e.past)
	}
	d := &answer.Done{Finish: providers.FinishStop, Handover: a.offered(ctx, w, e)}
	if err := a.save(ctx, w, a.record(w, e, ""), d); err != nil {
		return err
	}
	return a.done(ctx, w, e.question.lang, d)
}

// refuse answers a question that did not pass. Nothing of it is saved. After an emergency it
// repeats the notice: a person who asks which hospital to go to must not get the refusal text.
func (a *Agent) refuse(ctx context.Context, w *task, e *ending, r *refusedError) error {
	w.out.Mark("2.3", "Question rejected - NOT saved to memory")
	if err := w.out.Step("2.1", "Guardrail result: REJECTED"); err != nil {
		return err
	}
	lang := e.question.lang
	refused := &answer.Done{Finish: providers.FinishStop, Refused: true}
	past := a.conversation(ctx, w, e.past)
	if e.past.isEmpty() { // pending approvals were not read yet
		var err error
		if e.question, err = a.takeApproval(ctx, w, e.question, past); err != nil {
			return err
		}
	}
	if kinds := a.judges.EarlierEmergencies(w.assistant.Topic, past.last(), e.question.asked); len(kinds) > 0 {
		if _, err := a.notify(w, e.question, kinds); err != nil {
			return err
		}
	}
	notified := w.out.Answer() != ""
	if err := w.reportDropped(e.question, nil); err != nil {
		return err
	}
	if notified {
		return a.done(ctx, w, lang, refused)
	}
	text := w.guard.Refusal(lang)
	refused.Handover = a.offered(ctx, w, e)
	switch {
	case e.contact.wants != person.Not:
		text = prompts.OfferPerson(lang, refused.Handover != "")
	case r.Verdict.Unavailable:
		text = w.guard.Unavailable(lang)
	}
	w.out.StartParagraph()
	if err := w.out.Say(text); err != nil {
		return err
	}
	return a.done(ctx, w, lang, refused)
}

// recallTimeout bounds how long a refusal waits for the conversation.
const recallTimeout = time.Second

// conversation returns the conversation; it reads it if the question was refused before that.
func (a *Agent) conversation(ctx context.Context, w *task, past recalled) recalled {
	switch {
	case !past.isEmpty():
	case w.turn.Stateless:
		past.exchanges = sent(w.turn.Messages, w.turn.Data, func(schemas.ToolCall, schemas.ToolResult) bool { return false })
	case w.keeper.Reads() && !w.keeper.Fresh():
		ctx, cancel := context.WithTimeout(ctx, recallTimeout)
		defer cancel()
		if opening, err := w.keeper.Opening(ctx); err == nil {
			past = recallFrom(opening)
		}
	}
	return past
}

// voice returns the texts of the assistant's topic in a language; without a topic, general labels.
func (w *task) voice(lang string) subject.Voice {
	if w.guard == nil {
		return subject.Voice{Labels: subject.Plain(lang)}
	}
	return w.guard.Topic().Voice(lang)
}
