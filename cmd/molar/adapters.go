package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"molar/agent"
	"molar/agent/memory"
	"molar/internal/store"
	"molar/mcpclients"
	"molar/providers"
	"molar/providers/chain"
	"molar/providers/offline"
	"molar/schemas"
)

// Small types that fit one package's part to the port of another.

// models fits the chain to the agent.
type models struct{ *chain.Chain }

func (m models) Pick(ctx context.Context, provider, model, small string) (providers.Route, error) {
	return m.Chain.Pick(ctx, chain.Want{Provider: provider, Model: model, SmallModel: small})
}

// catalogue fits the client manager to the agent and the pages.
type catalogue struct{ *mcpclients.Manager }

func (c catalogue) Tools() []schemas.Tool { return c.Catalogue().Tools() }

// toolDecisions reads what was decided about tools in earlier runs.
func toolDecisions(ctx context.Context, db *store.DB) (mcpclients.Decisions, error) {
	kept, err := db.ToolDecisions(ctx)
	decisions := mcpclients.Decisions{Off: make(map[mcpclients.ToolRef]bool, len(kept.Off)), Pins: kept.Pins}
	for _, ref := range kept.Off {
		decisions.Off[mcpclients.ToolRef(ref)] = true
	}
	return decisions, err
}

// rank is the lexical scorer of offline in the agent's words.
func rank(question string, tools []schemas.ToolInfo) []agent.Ranked {
	scores := offline.Rank(question, tools)
	ranked := make([]agent.Ranked, len(scores))
	for i, s := range scores {
		ranked[i] = agent.Ranked{Name: s.Tool, Score: s.Score}
	}
	return ranked
}

// recorder hands traces to the writer.
type recorder struct {
	to  *store.TraceWriter
	log *slog.Logger
}

func (r recorder) Record(t agent.Trace) {
	body, err := t.Encode()
	if err != nil {
		r.log.Warn("the trace of a turn could not be encoded", "turn", t.TurnID, "error", err)
		return
	}
	r.to.Record(store.Trace{TurnID: t.TurnID, ConversationID: t.ConversationID, Owner: t.Owner, Started: t.Started, Body: body})
}

// traceStore reads traces; what is still on its way to the database is written
// first.
type traceStore struct {
	db *store.DB
	w  *store.TraceWriter // nil when traces are off
}

func (s traceStore) Trace(ctx context.Context, owner, turnID string) (json.RawMessage, bool, error) {
	if s.w != nil {
		if err := s.w.Flush(ctx); err != nil {
			return nil, false, err
		}
	}
	t, ok, err := s.db.GetTrace(ctx, turnID)
	if err != nil || !ok || owner != "" && t.Owner != owner { // no owner sees all, as in the memory
		return nil, false, err
	}
	return t.Body, true, nil
}

// forget deletes what the host knows of a conversation, also traces on their way.
func (s traceStore) forget(ctx context.Context, owner, conversationID string) error {
	if s.w != nil {
		if err := s.w.Flush(ctx); err != nil {
			return err
		}
	}
	return s.db.ForgetConversation(ctx, owner, conversationID)
}

// conversations speaks of unknown conversations in the agent's words. What the host
// itself knows of a conversation, its traces, goes first: should the memory fail then,
// the rest can be deleted again.
type conversations struct {
	*memory.Client
	traces traceStore
}

func (c conversations) Rename(ctx context.Context, owner, id, title string) error {
	return known(c.Client.Rename(ctx, owner, id, title))
}

func (c conversations) Clear(ctx context.Context, owner, id string) error {
	if err := c.traces.forget(ctx, owner, id); err != nil {
		return err
	}
	return known(c.Client.Clear(ctx, owner, id))
}

func (c conversations) Delete(ctx context.Context, owner, id string) error {
	if err := c.traces.forget(ctx, owner, id); err != nil {
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
