package agent

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"molar/agent/answer"
	"molar/agent/prompts"
	"molar/agent/subject"
	"molar/providers"
)

// Warm makes the first questions quicker: topics of one's own are learned, and a local
// small model is loaded. It takes as long as the model does; whoever starts it in the
// background waits for its end.
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

// look reads the question alone. It fails with a [*RefusedError] where code is sure already
// that the question does not belong to the topic.
func (a *Agent) look(ctx context.Context, w task, q question) (First, error) {
	first := a.judges.Look(w.assistant.Topic, q.asked)
	if first.Refuses() && q.langSure && !MayBeYes(q.asked) {
		return first, Decided(first.Verdict, w.out).Pass(ctx)
	}
	return first, nil
}

// judge returns the gate of a question. Where code is not sure, alone or as a follow-up,
// a model is asked beside the turn; a message that describes an emergency always passes,
// and its notice is said here, before all that may fail or take long.
func (a *Agent) judge(ctx context.Context, w task, q question, past recalled, first First) (*Gate, error) {
	a.watchOver(ctx, w, q, past)
	if w.guard == nil || len(q.agreed) > 0 { // the question before was judged
		a.watchAnswer(w, q, past, subject.Verdict{}, false)
		w.record(ctx, q)
		return OpenGate(), nil
	}
	verdict, kinds := a.judges.Decide(ctx, Case{
		Topic: w.assistant.Topic, First: first, Route: w.route, Out: w.out, Group: w.group,
		Question: subject.Question{Text: q.asked, Lang: q.lang, AskLanguage: !q.langSure, Last: past.last()},
		Stream:   a.streamOf(w),
	})
	verdict.OnPass = func(v subject.Verdict) error {
		a.watchAnswer(w, q, past, v, len(kinds) > 0)
		w.record(ctx, q)
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

// language settles the language of the question. Where code is not sure, a judge may have to
// tell it first.
func (a *Agent) language(ctx context.Context, w task, q question, verdict *Gate) (question, error) {
	if !q.langSure {
		told, err := verdict.Language(ctx)
		if err != nil {
			return q, err
		}
		if told != "" {
			q.lang, q.langSure = told, true
		}
	}
	w.out.Language(q.lang, q.langSure)
	return q, nil
}

// streamOf makes the judge's calls calls of the turn.
func (a *Agent) streamOf(w task) func(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
		return a.stream(ctx, w, &req)
	}
}

// watchOver sets the watch over the answer to a question, where the assistant keeps to a subject. It
// begins to look once something arms it. Where it doubts, the small model is asked, and only its no
// ends the answer; once that one gave no answer, nobody waits for it again. What is said offline is
// quoted from what was found, or code's own, and is not watched.
func (a *Agent) watchOver(ctx context.Context, w task, q question, past recalled) {
	if w.guard == nil || w.route.Offline || a.cfg.Off.Watch {
		return
	}
	look := func(text string) (seen answer.Look) {
		seen.Score, seen.Strayed, seen.Sure = w.guard.Strays(text)
		return seen
	}
	silent := false
	w.out.Watch(answer.NewWatch(look, func(part string, score float64) error {
		if silent {
			return nil
		}
		strayed, err := a.judges.HasStrayed(ctx, Case{
			Topic: w.assistant.Topic, Route: w.route, Stream: a.streamOf(w),
			Question: subject.Question{Text: q.asked, Lang: w.out.Lang(), Last: past.last()},
		}, part)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			silent = true
			w.out.Mark("8.1", "The answer is in doubt, and nobody could be asked: it goes on", "score", score, "error", err)
			return nil
		case !strayed:
			w.out.Mark("8.1", "The answer was in doubt, and the judge lets it go on", "score", score)
			return nil
		}
		w.out.Mark("8.1", "The answer left the subject and is cut", "score", score)
		return errStrayed
	}))
}

// watchAnswer arms the watch over an answer that may leave the subject: the model reads text
// that the person did not write, or a question passed that code would have refused, by a model or since
// an emergency was told before. An emergency alone is no reason for doubt: what helps there is often no
// dentistry.
func (a *Agent) watchAnswer(w task, q question, past recalled, v subject.Verdict, urgent bool) {
	switch {
	case urgent:
		w.out.Watching().Urge()
	case past.foreign && len(past.exchanges) > 0, q.ordered, q.server != "", v.By != "code" && v.Score < 0,
		len(q.read) > 0, len(past.read) > 0, len(q.agreed) > 0, w.turn.System != "", w.turn.Form != "", len(w.turn.Results) > 0:
		w.out.Watching().Arm()
	}
}

// errStrayed says that an answer left the subject.
var errStrayed = errors.New("the answer left the subject")

// cutShort ends an answer that has left the subject with a note. The question is kept, and of what
// was shown all but the part that was found to have strayed.
func (a *Agent) cutShort(ctx context.Context, w task, e *ending) error {
	good := strings.TrimSpace(w.out.Good())
	note := prompts.Strayed(w.out.Lang(), good != "")
	d := e.answer.done()
	d.Finish = providers.FinishContentFilter
	if w.turn.JSON {
		if err := w.out.Warn(note); err != nil {
			return err
		}
		if e.before == "" { // else it begins with the notice
			good = together(e.question.notice, good)
		}
	} else {
		w.out.Part()
		if err := w.out.Say(note); err != nil {
			return err
		}
		good = together(good, note)
	}
	record := e.record(w, "")
	record.Answer = together(e.before, good)
	if err := a.save(ctx, w, record, d); err != nil {
		return err
	}
	return a.done(w, e.question.lang, d)
}

// Notice returns the emergency notice that an answer begins with, or nothing.
func (a *Agent) Notice(answer string) string {
	for _, guard := range a.cfg.Guards {
		if notice, _ := subject.Leading(guard.Topic(), answer); notice != "" {
			return notice
		}
	}
	return ""
}

// EndsTurn reports whether an answer is the notice of an emergency that is the whole answer, so that no
// model is asked in its turn.
func (a *Agent) EndsTurn(answer string) bool {
	for _, guard := range a.cfg.Guards {
		if isWholeAnswer(guard, answer) {
			return true
		}
	}
	return false
}

// notify says what to do in an emergency, and returns what was said. A client that wants
// JSON gets it as a warning, which leaves its answer whole; where the notice is the whole answer, it is
// text all the same, as a refusal is.
func (a *Agent) notify(w task, q question, kinds []string) (string, error) {
	w.out.Emergency(kinds)
	w.out.Mark("2.2", "Emergency notice", "kinds", strings.Join(kinds, ", "))
	text := subject.Notice(w.guard.Topic(), kinds, q.lang)
	if w.turn.JSON && !subject.Deciding(w.guard.Topic(), kinds).Ends {
		return text, w.out.Warn(text)
	}
	return text, w.out.Notice(text)
}

// endsWithNotice reports whether the notice of an emergency is the whole answer: its kind says so, or
// nobody is there to add to it, as nothing was found and no model answers.
func (w task) endsWithNotice(verdict *Gate, found findings) bool {
	return verdict.Emergency.Ends || verdict.Notice != "" && w.route.Offline && !w.turn.JSON && len(found.results) == 0
}

// onlyNotice ends a turn whose answer is the notice of an emergency. It is kept like any answer; where
// nothing may follow it, what is asked later is not searched for with what was said in need.
func (a *Agent) onlyNotice(ctx context.Context, w task, e *ending) error {
	if isWholeAnswer(w.guard, e.question.notice) {
		e.subject = a.subject(w, e.past)
	}
	d := &answer.Done{Finish: providers.FinishStop}
	if err := a.save(ctx, w, e.record(w, ""), d); err != nil {
		return err
	}
	return a.done(w, e.question.lang, d)
}

// refuse answers a question that did not pass. Nothing of it is kept. Behind an emergency the person
// is told again what to do: whoever asks then which hospital to go to must not hear that only teeth
// are spoken of here.
func (a *Agent) refuse(ctx context.Context, w task, e *ending, r *RefusedError) error {
	w.out.Mark("2.3", "Question rejected - NOT saved to memory")
	if err := w.out.Step("2.1", "Guardrail result: REJECTED"); err != nil {
		return err
	}
	lang := e.question.lang
	refused := &answer.Done{Finish: providers.FinishStop, Refused: true}
	past := a.conversation(ctx, w, e.past)
	if e.past.isEmpty() { // nobody has looked yet for calls that wait
		var err error
		if e.question, err = a.agreed(ctx, w, e.question, past); err != nil {
			return err
		}
	}
	if kinds := a.judges.Told(w.assistant.Topic, past.last(), e.question.asked); len(kinds) > 0 {
		if _, err := a.notify(w, e.question, kinds); err != nil {
			return err
		}
	}
	told := w.out.Answer() != ""
	if err := w.tellDropped(e.question, nil); err != nil {
		return err
	}
	if told {
		return a.done(w, lang, refused)
	}
	text := w.guard.Refusal(lang)
	if r.Verdict.Unavailable {
		text = w.guard.Unavailable(lang)
	}
	w.out.Part()
	if err := w.out.Say(text); err != nil {
		return err
	}
	return a.done(w, lang, refused)
}

// mostForLast bounds how long a refusal waits for the conversation.
const mostForLast = time.Second

// conversation is what is recalled, for which a question that was refused at sight has not waited.
func (a *Agent) conversation(ctx context.Context, w task, past recalled) recalled {
	switch {
	case !past.isEmpty():
	case w.turn.Stateless:
		past.exchanges = Sent(w.turn.Messages)
	case w.journal.Reads() && !w.journal.Fresh():
		ctx, cancel := context.WithTimeout(ctx, mostForLast)
		defer cancel()
		if opening, err := w.journal.Opening(ctx); err == nil {
			past = recallFrom(opening)
		}
	}
	return past
}

// voice is what the assistant's topic says in a language; without a topic, in general
// words.
func (w task) voice(lang string) subject.Voice {
	if w.guard == nil {
		return subject.Voice{Labels: subject.Plain(lang)}
	}
	return w.guard.Topic().Voice(lang)
}

// FirstQuestions are questions to begin with that a topic brings, by language; nil where it
// brings none, or is not known.
func (a *Agent) FirstQuestions(topic string) map[string][]string {
	guard := a.cfg.Guards[topic]
	if guard == nil {
		return nil
	}
	return guard.Topic().FirstQuestions()
}
