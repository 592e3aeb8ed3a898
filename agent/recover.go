package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"molar/agent/answer"
	"molar/agent/journal"
	"molar/agent/memory"
	"molar/schemas"
)

// A begunTurn is what the journal holds of a turn whose question has passed the guardrail: enough to
// save the turn if its process is lost.
type begunTurn struct {
	Lease schemas.Lease `json:"lease"`
	Owner string        `json:"owner,omitempty"`
	// Parent is the turn that it follows, empty for none; nil follows the newest. First is set if the
	// conversation had no turn.
	Parent      *string  `json:"parent,omitempty"`
	First       bool     `json:"first,omitempty"`
	Key         string   `json:"key"`
	User        string   `json:"user"`
	Language    string   `json:"language,omitempty"`
	Assistant   string   `json:"assistant"`
	Subject     string   `json:"subject,omitempty"`
	ServersRead []string `json:"servers_read,omitempty"`
	// Read are the origins of the texts of others before the model, From those of the texts in the
	// question that the person did not type.
	Read []schemas.Origin `json:"read,omitempty"`
	From []schemas.Origin `json:"from,omitempty"`
	// Before is the text that was shown before the turn paused for its client's tools.
	Before string        `json:"before,omitempty"`
	Files  []memory.File `json:"files,omitempty"`
	// Request is the turn as it was asked, if another process may continue it.
	Request json.RawMessage `json:"request,omitempty"`
}

// openJournal opens the journal of a turn, and returns yield with each event added to it.
func (a *Agent) openJournal(ctx context.Context, t *Turn, cancel context.CancelCauseFunc, yield func(answer.Event, error) bool) (
	*journal.Turn, func(answer.Event, error) bool, error,
) {
	book, err := a.cfg.Journal.Open(ctx, schemas.JournalTurn{ID: t.ID, Owner: t.Owner, ConversationID: t.ConversationID, Since: t.began}, cancel)
	if err != nil || book == nil {
		return nil, yield, err
	}
	began := a.cfg.Now()
	return book, func(ev answer.Event, err error) bool {
		at := time.Duration(0)
		if ev.Kind != answer.KindText && ev.Kind != answer.KindThinking { // there are too many of them
			at = a.cfg.Now().Sub(began)
		}
		book.Add(ev, at)
		return yield(ev, err)
	}, nil
}

// isRecorded reports whether the turn is written anywhere.
func (w *task) isRecorded() bool { return w.keeper.Keeps() || w.turn.GoesOn }

// record begins the journal of a turn that is being answered: about is the subject of the conversation,
// before what the turn showed before it paused.
func (w *task) record(ctx context.Context, q question, past recalled, about, before string) {
	if !w.isRecorded() {
		return
	}
	asked, _ := w.turn.Asked()
	key := w.turn.Key
	if key == "" {
		key = w.turn.ID
	}
	asking := originsOf(slices.Concat(q.read, w.turn.systemRead()))
	b := begunTurn{
		Key: key, User: q.typed, Language: q.lang, Assistant: w.assistant.Name, Subject: about, ServersRead: toStrings(slices.Concat(past.read, asking)), Before: before,
		Read: append(past.origins(), asking...), From: q.from,
		Files: files(asked.Parts, w.turn.Attachments),
	}
	if w.turn.GoesOn {
		b.Request = w.turn.request()
	}
	w.keeper.Record(ctx, b)
}

// said records what the model said in a round with calls. What quotes the prompt is not kept.
func (w *task) said(m schemas.Message) {
	if !w.out.Leaked() {
		w.turn.Journal.Said(m)
	}
}

// Recover saves a turn whose process is gone as interrupted, with what its journal holds. It can be
// repeated.
func (a *Agent) Recover(ctx context.Context, r schemas.JournalRecord) error {
	var b begunTurn
	if err := json.Unmarshal(r.State, &b); err != nil {
		return fmt.Errorf("read the journal of turn %q: %w", r.ID, err)
	}
	if b.Lease.Token == "" { // it was not to be kept
		return nil
	}
	p, err := replay(r)
	if err != nil {
		return err
	}
	record := memory.Record{
		Lease: b.Lease, Owner: b.Owner, Key: b.Key, TurnID: r.ID, User: b.User, BeganAt: r.Began, Answer: joinParagraphs(b.Before, p.seen.Answer()),
		Rounds: withoutMedia(p.rounds), Sources: p.seen.Sources, Status: schemas.StatusInterrupted, ServersRead: b.ServersRead, Language: b.Language,
		Assistant: b.Assistant, Subject: b.Subject,
	}
	of := a.cfg.Handler.Catalogue(a.cfg.Tools.Tools)
	found, _ := results(of, append(slices.Clip(p.rounds), schemas.Round{Results: slices.Collect(maps.Values(p.results))}))
	read := originsOf(found)
	record.ServersRead = append(record.ServersRead, toStrings(read)...)
	if len(record.Rounds) == 0 {
		record.Rounds = make([]schemas.Round, 1)
	}
	record.Rounds[0].Traced, record.Rounds[0].Read, record.Rounds[0].Question = true, sorted(append(read, b.Read...)), b.From
	err = a.cfg.Memory.Save(ctx, record)
	if errors.Is(err, memory.ErrStale) { // a later turn has begun meanwhile: it is saved after that
		var opening schemas.Opening
		opening, err = a.cfg.Memory.Begin(ctx, memory.BeginRequest{ConversationID: b.Lease.ConversationID, Owner: b.Owner, Key: b.Key, Wait: time.Second})
		if err != nil {
			return err
		}
		if opening.Finished != nil { // the same question was asked again, and answered
			return nil
		}
		record.Lease = opening.Lease
		err = a.cfg.Memory.Save(ctx, record)
	}
	if err != nil {
		return err
	}
	if err := putFiles(ctx, a.cfg.Memory, record.Lease, r.ID, b.Files); err != nil {
		a.log.Warn("files of a turn whose process is gone are not stored", "turn", r.ID, "error", err)
	}
	return nil
}

// An UnsavedTurn is a turn that is not saved yet, as its journal has it. Its status is running until its
// process is known to be gone.
type UnsavedTurn struct {
	schemas.StoredTurn
	// Parent is the turn that it follows, empty for none; nil follows the newest. First is set if the
	// conversation had no turn.
	Parent *string
	First  bool
	// Kept is set if the turn is to be saved.
	Kept bool
}

// Unsaved reads a turn that is not saved yet.
func Unsaved(r schemas.JournalRecord) (UnsavedTurn, error) {
	var b begunTurn
	if err := json.Unmarshal(r.State, &b); err != nil {
		return UnsavedTurn{}, fmt.Errorf("read the journal of turn %q: %w", r.ID, err)
	}
	p, err := replay(r)
	t := UnsavedTurn{Parent: b.Parent, First: b.First, Kept: b.Lease.Token != "", StoredTurn: schemas.StoredTurn{
		TurnID: r.ID, ConversationID: r.ConversationID, Assistant: b.Assistant, Status: schemas.StatusRunning, Question: b.User,
		Answer: joinParagraphs(b.Before, p.seen.Answer()), BeganAt: r.Began,
	}}
	if r.Lost {
		t.Status = schemas.StatusInterrupted
	}
	return t, err
}

// A past is what the journal holds of a turn's work.
type past struct {
	// seen is what it has shown, and open the text of it that no round with calls has ended.
	seen answer.Collector
	open string
	// rounds are those with calls, with the results that were recorded; results are all of them by the
	// ids of their calls.
	rounds  []schemas.Round
	results map[string]schemas.ToolResult
	// sent are the ids of calls with a possible effect that were sent.
	sent map[string]bool
}

// replay reads a journal.
func replay(r schemas.JournalRecord) (past, error) {
	p := past{results: make(map[string]schemas.ToolResult), sent: make(map[string]bool)}
	for _, row := range r.Rows {
		items, err := journal.Decode(row)
		if err != nil {
			return p, fmt.Errorf("read the journal of turn %q: %w", r.ID, err)
		}
		for _, it := range items {
			p.add(it.Read())
		}
	}
	for _, row := range r.Rounds {
		var round journal.Round
		if err := json.Unmarshal([]byte(row.Body), &round); err != nil {
			return p, fmt.Errorf("read the journal of turn %q: %w", r.ID, err)
		}
		if round.Said == nil {
			p.sent[round.Sent] = true
			continue
		}
		one := schemas.Round{Said: *round.Said}
		for _, call := range round.Said.Calls() {
			if result, known := p.results[call.ID]; known {
				one.Results = append(one.Results, result)
			}
		}
		p.rounds = append(p.rounds, one)
	}
	return p, nil
}

func (p *past) add(ev answer.Event) {
	p.seen.Add(ev)
	switch ev.Kind {
	case answer.KindText:
		p.open += ev.Text
	case answer.KindCommentary, answer.KindReset, answer.KindToolCall:
		p.open = ""
	case answer.KindToolResult:
		if ev.Result != nil {
			p.results[ev.Result.ID] = *ev.Result
		}
	}
}
