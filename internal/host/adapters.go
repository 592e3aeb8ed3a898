package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"molar/agent"
	"molar/agent/answer"
	"molar/agent/memory"
	"molar/internal/documents"
	"molar/internal/store"
	"molar/mcpclients"
	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// Small types that adapt one package to the interface of another.

// Routes adapts the chain to the agent.
type Routes struct{ *chain.Chain }

// Pick returns the route for the provider and the models that a turn requests.
func (m Routes) Pick(ctx context.Context, provider, model, small string) (providers.Route, error) {
	return m.Chain.Pick(ctx, chain.Want{Provider: provider, Model: model, SmallModel: small})
}

// Catalogue adapts the client manager to the agent and the pages.
type Catalogue struct{ *mcpclients.Manager }

// Tools returns the tools that may be called now.
func (c Catalogue) Tools() []schemas.Tool { return c.Catalogue().Tools() }

// offered is the catalogue for turns: with the tools of lost servers, whose calls wait for
// them.
type offered struct{ Catalogue }

func (o offered) Tools() []schemas.Tool { return o.Known().Tools() }

// Status returns what turns need to know of the servers.
func (o offered) Status() []schemas.ServerStatus { return o.States() }

// recorder passes traces to the writer.
type recorder struct {
	to  *store.TraceWriter
	log *slog.Logger
}

func (r recorder) Record(t answer.Trace) {
	t.Outcome = answer.OutcomeOf(t)
	body, err := t.Encode()
	if err != nil {
		r.log.Warn("the trace of a turn could not be encoded", "turn", t.TurnID, "error", err)
		return
	}
	r.to.Record(store.Trace{TurnID: t.TurnID, ConversationID: t.ConversationID, Owner: t.Owner, Started: t.Started, Body: body, Listed: listed(t)})
}

// TraceStore reads traces; queued ones are written first.
type TraceStore struct {
	*store.DB
	Writer *store.TraceWriter // nil when traces are off
	// Memory finds turns without a trace; nil means to look in DB.
	Memory *memory.Client
}

// Trace returns the trace of a turn, if it is the owner's; no owner sees all. For a turn
// without a trace it returns what is stored of it.
func (s TraceStore) Trace(ctx context.Context, owner, turnID string) (json.RawMessage, bool, error) {
	if err := s.flush(ctx); err != nil {
		return nil, false, err
	}
	t, ok, err := s.GetTrace(ctx, turnID)
	switch {
	case err != nil || ok && owner != "" && t.Owner != owner: // no owner sees all, as in the memory
		return nil, false, err
	case ok:
		return t.Body, true, nil
	}
	stored, ok, err := s.Turn(ctx, owner, turnID)
	if err != nil || !ok {
		return nil, false, err
	}
	body, err := untraced(stored).Encode()
	return body, err == nil, err
}

// Turn returns what is stored of a turn, if it is the owner's: in the memory or, before it is saved, in
// its journal.
func (s TraceStore) Turn(ctx context.Context, owner, turnID string) (schemas.StoredTurn, bool, error) {
	r, ok, err := s.Journal("").Read(ctx, turnID)
	if err != nil {
		return schemas.StoredTurn{}, false, err
	}
	if t, saved, err := s.savedTurn(ctx, owner, turnID); saved || err != nil {
		return t, saved, err
	}
	if !ok || len(r.State) == 0 || r.Ended && !r.Lost || owner != "" && r.Owner != owner {
		return schemas.StoredTurn{}, false, nil
	}
	t, err := agent.Unsaved(r)
	return t.StoredTurn, err == nil, err
}

// savedTurn returns a turn of the memory.
func (s TraceStore) savedTurn(ctx context.Context, owner, turnID string) (schemas.StoredTurn, bool, error) {
	if s.Memory != nil {
		return s.Memory.Turn(ctx, owner, turnID)
	}
	t, err := s.DB.Turn(ctx, owner, turnID)
	if errors.Is(err, store.ErrNoTurn) {
		return t, false, nil
	}
	return t, err == nil, err
}

// untraced returns what is stored of a turn, as a trace.
func untraced(t schemas.StoredTurn) answer.Trace {
	trace := answer.Trace{
		TurnID: t.TurnID, ConversationID: t.ConversationID, Assistant: t.Assistant, Started: t.BeganAt,
		Status: cmp.Or(t.Status, "done"), Untraced: t.Status != schemas.StatusRunning, Question: t.Question, Answer: t.Answer,
		Tools: []answer.ToolTrace{}, Passes: []answer.PassTrace{}, // not null: clients range over them
	}
	if !t.SavedAt.IsZero() {
		trace.TookMS = float64(t.SavedAt.Sub(t.BeganAt).Milliseconds())
	}
	return trace
}

// PutFeedback stores feedback on a turn, with the assistant from its trace.
func (s TraceStore) PutFeedback(ctx context.Context, f schemas.Feedback) (schemas.Feedback, bool, error) {
	trace, ok, err := s.Trace(ctx, f.Owner, f.TurnID)
	if err != nil {
		return f, false, err
	}
	var about struct{ Assistant string }
	if ok && json.Unmarshal(trace, &about) == nil {
		f.Assistant = about.Assistant
	}
	return s.DB.PutFeedback(ctx, f)
}

// forget deletes the host's data of a conversation, and queued traces.
func (s TraceStore) forget(ctx context.Context, owner, conversationID string) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.ForgetConversation(ctx, owner, conversationID)
}

func (s TraceStore) flush(ctx context.Context) error {
	if s.Writer == nil {
		return nil
	}
	return s.Writer.Flush(ctx)
}

// Conversations returns the agent's error for unknown conversations. It deletes the host's own
// data of a conversation, its traces, first: if the memory fails then, the deletion can be
// repeated.
type Conversations struct {
	*memory.Client
	Traces TraceStore
}

// Rename gives a conversation another title.
func (c Conversations) Rename(ctx context.Context, owner, id, title string) error {
	return known(c.Client.Rename(ctx, owner, id, title))
}

// File returns a file of a conversation.
func (c Conversations) File(ctx context.Context, owner, id string, seq int64, n int) (schemas.File, []byte, error) {
	f, err := c.ReadFile(ctx, owner, id, seq, n)
	return f.File, f.Data, known(err)
}

// Clear deletes the messages and traces of a conversation.
func (c Conversations) Clear(ctx context.Context, owner, id string) error {
	if err := c.Traces.forget(ctx, owner, id); err != nil {
		return err
	}
	return known(c.Client.Clear(ctx, owner, id))
}

// Delete deletes a conversation and its traces.
func (c Conversations) Delete(ctx context.Context, owner, id string) error {
	if err := c.Traces.forget(ctx, owner, id); err != nil {
		return err
	}
	return known(c.Client.Delete(ctx, owner, id))
}

func known(err error) error {
	if errors.Is(err, memory.ErrUnknown) {
		return fmt.Errorf("%w: %w", agent.ErrNotFound, err)
	}
	return err
}

// AskNobody cancels servers' questions outside a turn with a person. With it the host tells
// servers that they may ask.
func AskNobody(context.Context, schemas.Question) (schemas.Answer, error) {
	return schemas.Answer{Action: schemas.ActionCancel}, nil
}

// questionFiles reads the files of questions.
type questionFiles struct{ *documents.Reader }

// Text returns the text of a file by its name, or by its media type if the name does not tell.
func (q questionFiles) Text(ctx context.Context, name, media string, data []byte) (string, error) {
	if !documents.IsDocument(name) && errors.Is(q.Check(name), documents.ErrUnknown) {
		switch media {
		case "application/pdf":
			name += ".pdf"
		case "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
			name += ".docx"
		case "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":
			name += ".xlsx"
		default:
			if schemas.IsText(media) {
				return documents.Text(data)
			}
			return "", errors.ErrUnsupported
		}
	}
	d, err := q.Read(ctx, name, data)
	return d.String(), err
}
