package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/agent/answer"
	"molar/agent/memory"
	"molar/agent/offer"
	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
)

// An ending collects what the phases of a turn produce for its end.
type ending struct {
	question question
	past     recalled
	prompt   prompt
	found    findings
	offer    offer.Offer
	answer   outcome
	contact  contact
	// before is the text that was shown before the turn paused for its client's tools.
	before string
	// subject is the conversation's last self-contained question, this one included.
	subject string
}

// finish adds the sources, saves question and answer in one transaction, and only then
// reports the turn done.
func (a *Agent) finish(ctx context.Context, w *task, e *ending) error {
	if err := a.requestApproval(ctx, w, e); err != nil {
		return err
	}
	if err := a.noteUnsourced(w); err != nil {
		return err
	}
	list, err := a.addSources(ctx, w, e)
	if err != nil {
		return err
	}
	done := e.answer.done()
	done.Sources, done.Handover = list, a.offered(ctx, w, e)
	if !e.answer.withheld && w.keeper.Keeps() {
		record := a.record(w, e, "")
		record.Sources = list
		if err := a.save(ctx, w, record, done); err != nil {
			return err
		}
	}
	return a.done(ctx, w, e.question.lang, done)
}

// noteUnsourced says that a part of the answer was left out, if one was.
func (a *Agent) noteUnsourced(w *task) error {
	n := w.out.Unsourced()
	if n == 0 {
		return nil
	}
	w.out.Mark("8.1", "Sentences left out of the answer: no source says them", "sentences", n)
	return w.tell(prompts.Unsourced(w.out.Lang()))
}

// save stores the turn, if it is to be kept. A turn that the store never opened is dropped with a
// warning; an opened one that cannot be saved is an error.
func (a *Agent) save(ctx context.Context, w *task, record memory.Record, done *answer.Done) error {
	if !w.keeper.Keeps() {
		return nil
	}
	w.results.Store(ctx)
	began := a.cfg.Now()
	defer func() { w.out.Trace.Step("save", a.cfg.Now().Sub(began)) }()
	if err := w.keeper.Save(ctx, record); errors.Is(err, ErrNotSaved) {
		return err
	} else if err != nil {
		return w.out.Lose("the conversation could not be opened, so this turn is not saved: " + err.Error())
	}
	done.Saved = true
	w.out.Mark("9.1", "Turn saved to memory")
	if err := w.keeper.Unkept(); err != nil {
		if err := w.out.Warn(answer.CodeNotKept, err.Error()); err != nil {
			return err
		}
	}
	if a.cfg.Summaries != nil {
		a.cfg.Summaries.Nudge(record.Due)
	}
	return nil
}

// compaction reports whether the next compaction of the conversation is near, at three quarters of
// the room for exchanges, and whether it is due with the next turn.
func (e *ending) compaction(r memory.Record) (near, due bool) {
	room := e.prompt.room
	if room == 0 { // no model was called
		return false, false
	}
	stored := schemas.StoredMessage{Role: schemas.RoleAssistant, Content: r.Answer, Sources: r.Sources}
	said := append([]schemas.Message{schemas.Text(schemas.RoleUser, r.User)}, answerMessages(stored, r.Rounds, r.Language, 0)...)
	size := e.prompt.past + Size(said)
	return r.Compaction != nil || size > room/4*3, r.Compaction != nil || size > room
}

// record returns the turn as it is stored.
func (a *Agent) record(w *task, e *ending, status string) memory.Record {
	key := w.turn.Key
	if key == "" {
		key = w.turn.ID
	}
	answer := joinParagraphs(e.before, w.out.Answer())
	var rounds []schemas.Round
	if (e.answer.toolCalls > 0 || e.answer.hasState()) && !w.out.Leaked() && w.out.Unsourced() == 0 { // the rounds quote the model verbatim
		rounds = withoutAnswer(e.answer.asShown(w.storedPictures(e.answer.rounds)), answer)
	}
	rounds = append(rounds[:0:0], rounds...)
	if len(rounds) == 0 {
		rounds = make([]schemas.Round, 1)
	}
	rounds[0].Passages = e.prompt.passages
	rounds[0].Traced, rounds[0].Read, rounds[0].Question = true, e.held(w), e.question.from
	record := memory.Record{
		Key: key, User: e.question.typed, BeganAt: w.started, Answer: answer, Rounds: rounds,
		Status: status, ServersRead: toStrings(e.read(w)), Language: e.question.lang,
		Assistant: w.assistant.Name, Subject: e.subject, Compaction: e.prompt.compacted,
	}
	near, due := e.compaction(record)
	if most := a.cfg.Limits.Unsummarised; most > 0 && 2*e.past.unsummarised()+2 >= most {
		near = true
	}
	record.Due, record.Later = due, !near && w.assistant.Summarize != schemas.SummarizeAnswer
	return record
}

// read returns the sorted origins of all texts of others that the conversation has seen, this turn
// included.
func (e *ending) read(w *task) []schemas.Origin {
	return sorted(slices.Concat(e.past.read, e.held(w)))
}

// held returns the sorted origins of all texts of others that the turn's prompt held.
func (e *ending) held(w *task) []schemas.Origin {
	if e.offer.Handler == nil {
		return w.flowOf(e.question, e.past, e.found, w.earlier()).Origins()
	}
	return e.offer.Handler.Flow().Origins()
}

// asShown returns rounds with the results as the model was shown them last.
func (s outcome) asShown(rounds []schemas.Round) []schemas.Round {
	for i, round := range rounds {
		rounds[i].Results = slices.Clone(round.Results)
		for j, r := range round.Results {
			rounds[i].Results[j] = prompts.Shorten(r, s.shortened[r.ID])
		}
	}
	return rounds
}

// withoutAnswer returns rounds without the last one if it says what the stored answer says: the answer
// stands for it.
func withoutAnswer(rounds []schemas.Round, answer string) []schemas.Round {
	n := len(rounds) - 1
	if n < 0 || len(rounds[n].Said.Parts) != 1 || len(rounds[n].Results) > 0 {
		return rounds
	}
	if said := rounds[n].Said.Parts[0]; said.Kind != schemas.PartText || said.State != nil || said.Text != answer {
		return rounds
	}
	return rounds[:n]
}

// hasState reports whether an answer without calls holds provider state for later turns.
func (s outcome) hasState() bool {
	return len(s.rounds) == 1 && len(s.rounds[0].Said.Calls()) == 0 &&
		slices.ContainsFunc(s.rounds[0].Said.Parts, func(p schemas.Part) bool { return p.State != nil })
}

// joinParagraphs joins two texts with a blank line.
func joinParagraphs(before, after string) string {
	if before == "" || after == "" {
		return before + after
	}
	return before + "\n\n" + strings.TrimLeft(after, "\n")
}

// addSources lists the pages and passages that tool results name, never the model's own. With JSON, or without
// text in the answer, they are sent as data only.
func (a *Agent) addSources(ctx context.Context, w *task, e *ending) ([]schemas.Source, error) {
	var list answer.List
	list.Add(e.answer.grounded...)
	found := e.found.results
	if e.found.perhaps != nil { // which an answer without a model quotes
		found = append(slices.Clip(found), *e.found.perhaps)
	}
	for _, result := range found {
		quotes := w.route.Offline || e.answer.served != nil && e.answer.served.Quotes
		list.AddResult(answer.Used(result, w.out.Answer(), quotes))
	}
	for _, round := range e.answer.rounds {
		for _, result := range round.Results {
			if result.IsError {
				continue
			}
			if whole, known := w.results.Text(ctx, result.ID); known && result.Cut != nil {
				list.AddCut(result, whole.Text)
			}
			list.AddResult(result)
		}
	}
	w.out.Mark("8.2", fmt.Sprintf("Formatted response. Sources: %d", len(list.All())))
	if len(list.All()) == 0 {
		return nil, nil
	}
	if !w.turn.wantsJSON() && w.out.Spoke() {
		w.out.StartParagraph()
		if err := w.out.Say(answer.Markdown(prompts.SourcesHeading(e.question.lang), e.question.lang, list.All())); err != nil {
			return nil, err
		}
	}
	w.out.Between(ctx, "FORMATTED RESPONSE", w.out.Answer())
	return list.All(), w.out.Emit(answer.Event{Kind: answer.KindSources, Sources: list.All()})
}

// done returns the end of a turn as far as the rounds determine it.
func (s outcome) done() *answer.Done {
	d := &answer.Done{Finish: s.finish, ToolCalls: s.toolCalls, Calls: s.clientCalls, Unapproved: s.unapproved}
	if s.served != nil {
		d.Provider, d.Model = s.served.Provider, s.served.Model
	}
	return d
}

// done reports the end of a successful turn.
func (a *Agent) done(ctx context.Context, w *task, lang string, d *answer.Done) error {
	if d.Provider == "" {
		d.Provider, d.Model = w.route.Provider.Name(), w.route.Model
	}
	d.Language = lang
	w.out.Complete(d)
	a.remember(ctx, w)
	err := w.out.Emit(answer.Event{Kind: answer.KindDone, Done: d})
	if errors.Is(err, answer.ErrStopped) { // this was the last event
		return nil
	}
	return err
}

// repeat yields the stored answer of a turn whose key was saved before, instead of running it
// again.
func (a *Agent) repeat(ctx context.Context, w *task, f *schemas.Finished) error {
	w.out.WantJSON(w.schema != nil && w.check(f.Answer) != nil) // a stored value is the answer itself
	if err := w.out.Say(strings.TrimPrefix(f.Answer, w.out.Answer())); err != nil {
		return err
	}
	return a.done(ctx, w, "", &answer.Done{Finish: providers.FinishStop, Saved: true, Sources: f.Sources})
}

// unanswered returns why a turn that failed without an answer has none.
func unanswered(err error) schemas.Unanswered {
	switch kind := providers.KindOf(err); {
	case errors.Is(err, context.Canceled), errors.Is(err, answer.ErrStopped):
		return schemas.UnansweredStopped
	case kind == providers.KindContextLength:
		return schemas.UnansweredTooLong
	case isOutage(kind):
		return schemas.UnansweredUnreachable
	}
	return schemas.UnansweredFailed
}

// interrupt saves an interrupted turn: its question, once recorded, and the text so far. It saves
// nothing of a turn that had not begun, and returns "" where saving failed.
func (a *Agent) interrupt(ctx context.Context, w *task, e *ending, cause error) StoredPart {
	switch {
	case w.turn.Journal.IsHandedOver(): // another process continues it
		return ""
	case w.keeper == nil || !w.keeper.Keeps():
		return StoredNothing
	case w.keeper.Saved():
		return StoredAnswer
	case w.out.Answer() == "" && !w.keeper.Recorded():
		return StoredNothing
	}
	record := a.record(w, e, schemas.StatusInterrupted)
	if record.Answer == "" {
		if len(record.Rounds) == 0 {
			record.Rounds = make([]schemas.Round, 1)
		}
		record.Rounds[0].Unanswered = unanswered(cause)
	}
	if err := w.keeper.Save(ctx, record); err != nil {
		a.log.Warn("the interrupted answer could not be saved", "turn", w.turn.ID, "error", err)
		return ""
	}
	if joinParagraphs(e.before, w.out.Answer()) == "" {
		return StoredQuestion
	}
	return StoredAnswer
}
