package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/agent/answer"
	"molar/agent/journal"
	"molar/agent/memory"
	"molar/agent/offer"
	"molar/agent/subject"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// A task holds the fixed inputs of a turn. It is made once and only read.
type task struct {
	turn      *Turn
	assistant *schemas.Assistant
	route     providers.Route
	// down is why no model can be reached; nil if one can.
	down error
	// guard is nil for an assistant without a topic.
	guard *subject.Guard
	// schema is that of the answer; nil for an answer in prose.
	schema *toolhandler.Schema
	heard  heard
	out    *answer.Speaker
	keeper *keeper
	// results are the conversation's results, as far as read_result can read them.
	results *offer.Results
	// catalogue tells the origins of results.
	catalogue *toolhandler.Catalogue
	// ending is how far the turn came; nil before it runs.
	ending *ending
	// group holds the turn's goroutines.
	group   *sync.WaitGroup
	started time.Time
}

// answer runs a turn, waits for its goroutines, and delivers its trace.
func (a *Agent) answer(ctx context.Context, cancel context.CancelCauseFunc, t *Turn, fresh bool, yield func(answer.Event, error) bool) error {
	paused, err := a.resume(ctx, t)
	if err != nil {
		return err
	}
	a.letGo(ctx, t)
	if t.Journal == nil && !t.Stateless && !t.ReadOnly && a.cfg.Memory != nil {
		if t.Journal, yield, err = a.openJournal(ctx, t, cancel, yield); err != nil {
			return err
		}
		defer t.Journal.End()
	}
	out := answer.NewSpeaker(ctx, t.ID, answer.NewTracer(a.cfg.Recorder != nil, a.cfg.Now), a.log, yield)
	out.Private = t.Visitor
	if a.cfg.Summaries != nil {
		defer a.cfg.Summaries.Began()()
	}
	var group sync.WaitGroup
	k := a.open(ctx, t, fresh && paused == nil, out, &group)
	out.BeforeText = func() { k.Begun(ctx) }
	w, err := a.accept(ctx, t, out, k, &group)
	switch {
	case err != nil:
	case paused != nil:
		err = a.continueTurn(ctx, w, paused)
	default:
		err = a.run(ctx, w)
	}
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, journal.ErrTaken) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, cause)
	}
	if t.Resumed != nil && errors.Is(err, ErrBusy) { // another turn of the conversation goes first
		t.Journal.HandOver()
	}
	cancel(nil)
	group.Wait()
	k.Release(ctx)
	a.report(w, out, t, err)
	return err
}

// report delivers the trace of a turn, and logs what ended it early.
func (a *Agent) report(w *task, out *answer.Speaker, t *Turn, err error) {
	if w != nil { // else the turn was never accepted
		a.deliver(t, out.Trace.Finish(out.End(err)))
	}
	if err != nil {
		msg := "turn failed"
		if errors.Is(err, context.Canceled) || errors.Is(err, answer.ErrStopped) { // the client left, or a person stopped the turn
			msg = "turn broken off"
		}
		a.log.Info(msg, "turn", t.ID, "error", logged(t, err))
	}
}

// logged returns the error of a turn as it is logged. A service may quote in its words what a visitor asked.
func logged(t *Turn, err error) error {
	e, ok := errors.AsType[*providers.Error](err)
	if !t.Visitor || !ok || e.Err == nil || e.Kind == providers.KindBudget {
		return err
	}
	said := *e
	said.Err = nil
	return &said
}

// open starts reading the conversation; fresh is set if the turn made up its id.
func (a *Agent) open(ctx context.Context, t *Turn, fresh bool, out *answer.Speaker, group *sync.WaitGroup) *keeper {
	id := t.ID
	book := keeperConfig{
		Memory: a.cfg.Memory, Journal: t.Journal, GoesOn: t.GoesOn, TurnID: id, ReadOnly: t.ReadOnly, Group: group,
		Turn: memory.BeginRequest{ConversationID: t.ConversationID, Owner: t.Owner, Key: t.beginKey(), Parent: t.Parent, Began: t.Began},
		// The key's turn may have been saved in another conversation.
		Fresh: fresh && t.Key == "" && !a.cfg.MemoryRequired,
		Wait:  turnWait,
		Took:  func(d time.Duration) { out.Trace.Step("memory", d) },
		Log:   func(msg string, err error) { a.log.Warn(msg, "turn", id, "error", err) },
	}
	if t.Resumed != nil {
		book.Wait = resumedWait
	}
	if t.Stateless || t.ReadOnly && fresh { // there is nothing to read
		book.Memory = nil
	}
	if book.Memory != nil && !book.Fresh {
		ready, cancel := context.WithTimeout(ctx, storeWait)
		defer cancel()
		a.cfg.Journal.Ready(ready)
	}
	return openKeeper(ctx, book)
}

// accept finds the assistant and the route of a turn, and yields its start. A turn that names no
// assistant uses the conversation's, else the default.
func (a *Agent) accept(ctx context.Context, t *Turn, out *answer.Speaker, k *keeper, group *sync.WaitGroup) (*task, error) {
	name := t.Assistant
	if name == "" && k.Reads() && !k.Fresh() {
		if opening, err := k.Opening(ctx); err == nil {
			name = opening.Assistant
		}
		if !a.Knows(name) || !t.Rights.Assistant(name) {
			name = ""
		}
	}
	if name == "" {
		name = a.defaultOf(t.Rights)
	}
	assistant, ok := a.assistants[name]
	if !ok || !t.Rights.Assistant(name) {
		return nil, fmt.Errorf("%w: there is no assistant %q; choose one of %s", ErrNotFound, name, strings.Join(a.names(t.Rights), ", "))
	}
	if err := a.checkWithout(ctx, t); err != nil {
		return nil, err
	}
	schema, err := compileSchema(t)
	if err != nil {
		return nil, err
	}
	out.WantJSON(schema != nil)
	provider, model := t.Provider, t.Model
	if provider == "" && model == "" {
		provider, model = assistant.Provider, assistant.Model
	}
	route, err := a.cfg.Models.Pick(ctx, provider, model, t.GuardrailModel)
	down, unreachable := errors.AsType[*providers.Error](err)
	if unreachable = unreachable && isOutage(down.Kind); unreachable {
		route = providers.Route{Provider: outage{down}, Model: down.Model}
	} else if err != nil {
		return nil, err
	}
	leftOut := assistant.Topic != "" && assistant.ClientSystem != schemas.ClientSystemBelow && t.System != ""
	if leftOut {
		t.System = ""
	}
	w := &task{
		turn: t, assistant: assistant, route: route, schema: schema, guard: a.cfg.Guards[assistant.Topic],
		out: out, keeper: k, group: group, started: t.Began, catalogue: a.cfg.Handler.Catalogue(a.cfg.Tools.Tools),
	}
	w.heard = hear(w.guard, assistant)
	if unreachable {
		w.down = err
	}
	w.results = a.resultsOf(w)
	w.fitQuestion()
	out.Trace.Turn(t.ID, t.ConversationID, t.Owner)
	out.Trace.Route(assistant.Name, route)
	out.Trace.Without(t.Without)
	if secret := a.secrets[name]; !a.cfg.Off.Prompt {
		out.Withhold(secret())
	}
	if t.Resumed != nil {
		return w, w.takeUp()
	}
	err = out.Emit(answer.Event{Kind: answer.KindStart, Start: &answer.Start{
		TurnID: t.ID, ConversationID: t.ConversationID, Assistant: name, Created: w.started,
	}})
	for _, text := range t.Warnings {
		if err == nil {
			err = out.Warn(answer.CodeLeftOut, text)
		}
	}
	if leftOut && err == nil {
		err = out.Warn(answer.CodeLeftOut, "the client's system text is left out: the assistant keeps to a subject (client_system: below lets it in)")
	}
	return w, err
}

// run runs one turn: the phases before the model, the model's rounds, and the end.
func (a *Agent) run(ctx context.Context, w *task) (err error) {
	e := new(ending) // the turn's results so far, in case it is interrupted
	w.ending = e
	defer func() { err = a.close(ctx, w, e, err) }()

	verdict, answered, err := a.prepare(ctx, w, e)
	if err != nil || answered {
		return err
	}
	if err := a.converse(ctx, w, &e.prompt, &e.offer, verdict, &e.answer); err != nil { // 6.3, 8: its rounds
		if isUnpaid(err) && verdict.Notice != "" && len(e.answer.rounds) == 0 { // the notice is shown whoever pays
			return a.finishNotice(ctx, w, e)
		}
		return err
	}
	return a.end(ctx, w, e) // 8.2, 9.1: sources, save, report
}

// prepare runs a turn up to its model, one phase a line. The numbers are the steps in the log.
// answered is set if code has answered, so that no model is called.
func (a *Agent) prepare(ctx context.Context, w *task, e *ending) (verdict *Gate, answered bool, err error) {
	if e.question, err = a.read(ctx, w); err != nil { // 1.2: the question, its language, its attachments
		return nil, false, err
	}
	if e.contact, err = a.contact(ctx, w, e.question); err != nil { // 1.6: whether people at the desk answer
		return nil, false, err
	}
	first, err := a.look(ctx, w, e.question, e.contact) // 2: code's judgement of the question alone
	if err != nil {
		return nil, false, err
	}
	if err := a.canSearch(w, first); err != nil && !e.contact.speaks() {
		return nil, false, err
	}
	if e.past, err = a.recall(ctx, w, first); err != nil { // 3.1: the conversation
		return nil, false, err
	}
	if e.past.finished != nil {
		return nil, true, a.repeat(ctx, w, e.past.finished)
	}
	if e.question = e.question.settleLanguage(e.past); e.question.reply != nil {
		return nil, true, a.reply(ctx, w, e.question)
	}
	if e.question, err = a.takeApproval(ctx, w, e.question, e.past); err != nil { // approval of pending calls
		return nil, false, err
	}
	if e.question.reply != nil { // the approvers have not approved
		return nil, true, a.unapproved(ctx, w, e)
	}
	if answered, err = a.handOver(ctx, w, e, first); err != nil || answered { // 2.4: the desk answers, or is offered
		return nil, answered, err
	}
	if w.isRecorded() { // else nothing keeps the subject
		e.subject = a.subject(w, e.past)
		if own := e.question.own(); own != "" {
			e.subject = a.needs(w, own, e.past.isEmpty()).Subject(own, e.subject)
		}
	}
	verdict, err = a.judge(ctx, w, e.question, e.past, first, e.subject) // 2.1: a gate; nothing is shown or called before it
	if e.question.notice = verdict.Notice; err != nil {
		return nil, false, err
	}
	if w.down != nil && verdict.Notice == "" { // the question is recorded, if code was sure of it
		return nil, false, w.down
	}
	if e.question, err = a.language(ctx, w, e.question, verdict); err != nil { // 1.5: settled
		return nil, false, err
	}
	if e.found, err = a.lookUp(ctx, w, e.question, e.past, verdict); err != nil { // 6.1: code-driven tools
		return nil, false, err
	}
	if w.endsWithNotice(verdict, e.found) {
		return nil, true, a.finishNotice(ctx, w, e)
	}
	if e.offer, err = a.offer(ctx, w, e.question, e.past, e.found, w.earlier()...); err != nil { // 6.2: the tools that the model may call
		return nil, false, err
	}
	if e.prompt, err = a.prompt(ctx, w, &content{e.question, e.past, e.found}, e.offer); err != nil { // 5.1: the prompt
		return nil, false, err
	}
	w.showReading(&e.offer, e.prompt.messages)
	return verdict, false, nil
}

// end finishes a turn, or pauses it until its client has run its own tools.
func (a *Agent) end(ctx context.Context, w *task, e *ending) error {
	if len(e.answer.clientCalls) > 0 {
		return a.pause(ctx, w, e)
	}
	return a.finish(ctx, w, e)
}

// continueTurn resumes a turn whose client has run its own tools: its question was read, judged and
// searched for before.
func (a *Agent) continueTurn(ctx context.Context, w *task, p *PausedTurn) (err error) {
	bytes := a.resultBytes(ctx, w, len(w.turn.Results))
	p.Show(func(r schemas.ToolResult) schemas.ToolResult { return w.results.Shorten(ctx, r, bytes) })
	e := endingOf(p)
	w.ending = e
	defer func() { err = a.close(ctx, w, e, err) }()

	past, err := a.recall(ctx, w, First{})
	if err != nil {
		return err
	}
	if past.finished != nil {
		return a.repeat(ctx, w, past.finished)
	}
	e.past.read = append(e.past.read, past.read...)
	w.out.Language(e.question.lang, e.question.langSure)
	e.past.exchanges, e.past.summary, e.past.lang = past.exchanges, past.summary, past.lang
	if e.offer, err = a.offer(ctx, w, e.question, e.past, e.found, slices.Concat(p.Rounds, w.earlier())...); err != nil {
		return err
	}
	e.prompt.content = content{e.question, e.past, e.found}
	a.setWatch(ctx, w, e.question, e.past)
	w.heard.found(e.found.results...)
	for _, round := range p.Rounds {
		w.heard.fetched(round.Results...)
	}
	w.out.Watching().Arm()
	w.record(ctx, e.question, e.past, e.subject, e.before)
	err = a.converse(ctx, w, &e.prompt, &e.offer, openGate(), &e.answer)
	if e.answer = e.answer.after(p); err != nil {
		return err
	}
	return a.end(ctx, w, e)
}

// close finishes a turn that failed: a refused one gets the refusal text, one that left the subject
// a note, any other is saved as interrupted, as far as it came.
func (a *Agent) close(ctx context.Context, w *task, e *ending, err error) error {
	if r, ok := errors.AsType[*refusedError](err); ok {
		return a.refuse(ctx, w, e, r)
	}
	if errors.Is(err, errStrayed) {
		return a.cutShort(ctx, w, e)
	}
	if err != nil {
		a.remember(ctx, w) // a client may keep the text so far
	}
	if err != nil && !errors.Is(err, ErrNotSaved) { // saving was already retried
		return brokenError{err, a.interrupt(ctx, w, e, err)}
	}
	return err
}

// deliver passes the trace of a turn to the observer, and to the recorder or who else takes it.
func (a *Agent) deliver(t *Turn, trace answer.Trace) {
	if a.cfg.Observer != nil {
		a.cfg.Observer.Observe(trace)
	}
	switch {
	case t.Traced != nil:
		t.Traced(trace)
	case a.cfg.Recorder != nil:
		a.cfg.Recorder.Record(trace)
	}
}

// names returns the assistants that somebody may use.
func (a *Agent) names(rights *schemas.Rights) []string {
	names := make([]string, 0, len(a.cfg.Assistants))
	for _, as := range a.cfg.Assistants {
		if rights.Assistant(as.Name) {
			names = append(names, as.Name)
		}
	}
	return names
}

// defaultOf returns the default assistant, or the first one that somebody may use.
func (a *Agent) defaultOf(rights *schemas.Rights) string {
	if names := a.names(rights); len(names) > 0 && !rights.Assistant(a.cfg.Default) {
		return names[0]
	}
	return a.cfg.Default
}
