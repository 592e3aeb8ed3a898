package host

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"molar/agent/answer"
	"molar/internal/store"
	"molar/internal/text"
	"molar/schemas"
)

// listed returns what lists of turns show of a trace. A refused question is on none.
func listed(t answer.Trace) store.Listed {
	l := store.Listed{Outcome: t.Outcome, Assistant: t.Assistant, Question: text.Truncate(t.Question, schemas.MaxListedQuestion), Tools: t.Called()}
	if t.Outcome == schemas.OutcomeRefused {
		l.Question = ""
		if t.Verdict != nil {
			l.Reason = t.Verdict.Reason
		}
	}
	return l
}

// Turns returns the turns that match a filter, newest first, and the cursor of the next page.
func (s TraceStore) Turns(ctx context.Context, want schemas.TurnFilter) ([]schemas.ListedTurn, string, error) {
	if err := s.flush(ctx); err != nil {
		return nil, "", err
	}
	return s.ListTurns(ctx, want)
}

// Marks returns the marks of all people's turns, newest first.
func (s TraceStore) Marks(ctx context.Context, want schemas.FeedbackFilter) ([]schemas.Feedback, error) {
	return s.ListMarks(ctx, want)
}

// Asked returns whose turn it is, with its conversation, assistant and question. ok is false if there
// is no such turn, or nobody knows whose it is.
func (s TraceStore) Asked(ctx context.Context, turnID string) (t schemas.ListedTurn, ok bool, err error) {
	if err := s.flush(ctx); err != nil {
		return t, false, err
	}
	kept, ok, err := s.GetTrace(ctx, turnID)
	if err != nil {
		return t, false, err
	}
	t = schemas.ListedTurn{ID: turnID, Owner: kept.Owner, ConversationID: kept.ConversationID, At: kept.CreatedAt}
	if !ok {
		if t.Owner, ok, err = s.OwnerOf(ctx, turnID); err != nil || !ok {
			return t, false, err
		}
		stored, found, err := s.Turn(ctx, t.Owner, turnID)
		if err != nil || !found {
			return t, false, err
		}
		t.ConversationID, t.Assistant, t.Question = stored.ConversationID, stored.Assistant, &stored.Question
		return t, true, nil
	}
	var trace answer.Trace
	if err := json.Unmarshal(kept.Body, &trace); err != nil {
		return t, false, err
	}
	t.Assistant, t.Outcome = trace.Assistant, trace.Outcome
	if trace.Question != "" {
		t.Question = &trace.Question
	}
	return t, true, nil
}

// Names returns the name with which the owner of turns signed in, "" for one who did not, and all that gives
// them away in a text. The name of a key is none of it: it may be any word.
func (s TraceStore) Names(ctx context.Context, owner string) (name string, texts []string, err error) {
	const short = 3 // a shorter text cannot be told from a word
	who, _, err := s.Person(ctx, owner)
	for _, text := range []string{who.Name, who.Email, who.Subject, owner} {
		if utf8.RuneCountInString(text) >= short {
			texts = append(texts, text)
		}
	}
	return who.Name, texts, err
}

// PutReview stores a reviewer's mark of a turn, with the assistant from its trace.
func (s TraceStore) PutReview(ctx context.Context, f schemas.Feedback) (schemas.Feedback, bool, error) {
	about, ok, err := s.Asked(ctx, f.TurnID)
	if err != nil || !ok {
		return f, false, err
	}
	f.Assistant = about.Assistant
	return s.DB.PutReview(ctx, f)
}
