package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// statusClient is the status of a call that the client runs.
const statusClient toolhandler.Status = "client"

// pause ends a turn at calls that the client runs. It is saved as interrupted: the turn that resumes it
// takes its place.
func (a *Agent) pause(ctx context.Context, w *task, e *ending) error {
	for _, call := range e.answer.clientCalls {
		tool := schemas.Tool{ToolInfo: schemas.ToolInfo{Name: call.Function.Name}}
		w.out.Trace.Outcome(toolhandler.Outcome{Call: call, Tool: tool, Status: statusClient}, "the model called it, and the client runs it")
	}
	if w.keeper.Keeps() {
		if err := w.keeper.Save(ctx, a.record(w, e, schemas.StatusInterrupted)); err != nil {
			a.log.Warn("a paused turn could not be saved", "turn", w.turn.ID, "error", err) // the one that resumes it is
		}
	}
	if err := a.keep(ctx, w, e); err != nil {
		if err := w.out.Warn(answer.CodeNotKept, "the paused turn could not be stored; it will continue from the messages that the client sends: "+err.Error()); err != nil {
			return err
		}
	}
	if err := w.out.Emit(answer.Event{Kind: answer.KindClientCalls, Calls: e.answer.clientCalls, States: e.answer.states()}); err != nil {
		return err
	}
	d := e.answer.done()
	d.Finish = providers.FinishToolCalls
	return a.done(ctx, w, e.question.lang, d)
}

// states returns the provider's state of the calls of the last round, by their ids.
func (s outcome) states() map[string]*schemas.ProviderState {
	states := map[string]*schemas.ProviderState{}
	for _, p := range s.rounds[len(s.rounds)-1].Said.Parts {
		if p.Call != nil && p.State != nil {
			states[p.Call.ID] = p.State
		}
	}
	return states
}

func (a *Agent) keep(ctx context.Context, w *task, e *ending) error {
	if a.cfg.Pauses == nil {
		return nil
	}
	record := a.record(w, e, "")
	read, _ := e.found.readings(w.catalogue)
	read = slices.Concat(e.question.read, read)
	for _, origin := range e.held(w) {
		read = append(read, toolhandler.Reading{Origin: origin}) // the client may leave out some of it when it goes on
	}
	return Keep(ctx, a.pausesOf(w), w.turn.Owner, e.answer.clientCalls, PausedTurn{
		PausedIdentity: PausedIdentity{
			TurnID: w.turn.ID, ConversationID: w.turn.ConversationID, Parent: w.turn.Parent,
			Assistant: w.assistant.Name, Stateless: w.turn.Stateless, ReadOnly: w.turn.ReadOnly, Key: record.Key,
		},
		PausedQuestion: PausedQuestion{
			Question: e.question.message, Typed: e.question.typed, Language: e.question.lang, Notice: e.question.notice, Subject: e.subject,
			Words: e.question.words, From: e.question.from, Read: read,
			Dropped: e.question.dropped.Parts(),
		},
		PausedPrompt: PausedPrompt{System: e.prompt.system, Messages: e.answer.messages, Compacted: e.prompt.compacted, Passages: e.prompt.passages},
		PausedWork: PausedWork{
			Rounds: e.answer.rounds, Found: e.found.results, Looked: e.found.looked, Grounded: e.answer.grounded,
			ServersRead: record.ServersRead, ToolCalls: e.answer.toolCalls, Answer: record.Answer,
		},
	}, a.cfg.Now())
}

// resume finds the turn that the client's results belong to; t then continues it. A turn that is no
// longer stored, or belongs to another assistant, starts anew and is judged like any other: results
// can be made up and must not bypass the guardrail.
func (a *Agent) resume(ctx context.Context, t *Turn) (*PausedTurn, error) {
	if len(t.Results) == 0 || a.cfg.Pauses == nil {
		return nil, nil //nolint:nilnil // an ordinary turn
	}
	p, err := Find(ctx, a.cfg.Pauses, t.Owner, t.Results[0].ID)
	if err != nil {
		return nil, fmt.Errorf("%w: read the paused turn: %w", ErrStore, err)
	}
	if p == nil || t.Assistant != "" && t.Assistant != p.Assistant || !a.Knows(p.Assistant) {
		a.log.Warn("the paused turn is not stored; it starts over", "turn", t.ID, "call", t.Results[0].ID)
		return nil, nil //nolint:nilnil // an ordinary turn
	}
	if err := p.Complete(t.Results); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	t.Assistant, t.ConversationID, t.Parent, t.Key = p.Assistant, p.ConversationID, p.Parent, p.Key
	t.Stateless, t.ReadOnly = p.Stateless, p.ReadOnly
	return p, nil
}

// endingOf returns the state of a turn when it paused.
func endingOf(p *PausedTurn) *ending {
	return &ending{
		question: question{
			message: p.Question, asked: p.Question.Said(), typed: p.Typed, words: p.Words, from: p.From, read: p.Read,
			lang: p.Language, langSure: true, notice: p.Notice, dropped: pendingOf(p.Dropped),
		},
		past:   recalled{read: toOrigins(p.ServersRead)},
		prompt: prompt{system: p.System, messages: p.Messages, compacted: p.Compacted, passages: p.Passages},
		found:  findings{results: p.Found, looked: p.Looked}, // its origins are in Read
		before: p.Answer, subject: p.Subject,
	}
}

// after prepends the work of the paused turn.
func (s outcome) after(p *PausedTurn) outcome {
	s.rounds = slices.Concat(p.Rounds, s.rounds)
	s.grounded = slices.Concat(p.Grounded, s.grounded)
	s.toolCalls += p.ToolCalls
	return s
}

// datedPauses keeps what a turn leaves with the time when it began.
type datedPauses struct {
	Pauses
	began time.Time
}

// KeepTurn implements [Pauses].
func (p datedPauses) KeepTurn(ctx context.Context, r schemas.PauseRecord) error {
	r.Started = p.began
	return p.Pauses.KeepTurn(ctx, r)
}

// pausesOf returns where a turn keeps what waits for a person or client.
func (a *Agent) pausesOf(w *task) Pauses { return datedPauses{a.cfg.Pauses, w.turn.Began} }
