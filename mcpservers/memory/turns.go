package memory

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"

	"molar/internal/store"
	"molar/mcpservers"
	"molar/schemas"
)

const (
	// maxList is the largest page of a list, defaultList the usual one.
	maxList, defaultList = 1000, 50
	// maxClaims is the most conversations that one call claims.
	maxClaims = 100
	// maxTitle is the longest title, in runes.
	maxTitle = 200
	// maxSummary is the longest summary, in bytes: far above what a host writes, so that
	// the beginning of a turn fits into one answer.
	maxSummary = 512 << 10
)

type beginParams struct {
	ref
	Key string `json:"key"`
}

func (m *memory) beginTurn(ctx context.Context, p beginParams) (any, error) {
	unnamed := p.ConversationID == ""
	if err := p.checkOrMake(); err != nil {
		return nil, err
	}
	start, err := m.store.BeginTurn(ctx, store.TurnRequest{
		Owner: p.Owner, ConversationID: p.ConversationID, AnyConversation: unnamed, Key: p.Key, TTL: leaseTTL,
	})
	if err != nil {
		return nil, err
	}
	// Partial says that older uncovered messages were left out, or texts cut: no model
	// reads so much, and a client takes no answer without bounds.
	begun := struct {
		store.TurnStart
		Partial bool `json:"partial,omitempty"`
	}{TurnStart: start}
	begun.Messages, begun.Partial = shortened(newest(start.Messages, pageBytes))
	begun.Partial = begun.Partial || len(begun.Messages) < len(start.Messages)
	begun.Recent, _ = shortened(start.Recent)
	return begun, nil
}

type renewParams struct {
	Lease schemas.Lease `json:"lease"`
}

func (m *memory) renewTurn(ctx context.Context, p renewParams) (any, error) {
	if err := checkLease(p.Lease); err != nil {
		return nil, err
	}
	lease, err := m.store.RenewLease(ctx, p.Lease, leaseTTL)
	return struct {
		Lease schemas.Lease `json:"lease"`
	}{lease}, err
}

func checkLease(l schemas.Lease) error {
	if l.Token == "" || l.ConversationID == "" {
		return mcpservers.InvalidParams("lease is missing or incomplete, give back the one of memory/begin_turn")
	}
	return nil
}

type saveParams struct {
	Lease       schemas.Lease    `json:"lease"`
	Key         string           `json:"key"`
	TurnID      string           `json:"turn_id"`
	User        string           `json:"user"`
	Answer      string           `json:"answer"`
	Calls       json.RawMessage  `json:"calls"`
	Sources     []schemas.Source `json:"sources"`
	Status      string           `json:"status"`
	ServersRead []string         `json:"servers_read"`
	Language    string           `json:"language"`
}

func (m *memory) saveTurn(ctx context.Context, p saveParams) (any, error) {
	if err := checkLease(p.Lease); err != nil {
		return nil, err
	}
	if p.Status != "" && p.Status != schemas.StatusInterrupted {
		return nil, mcpservers.InvalidParams("status is %q, it must be empty or %q", p.Status, schemas.StatusInterrupted)
	}
	if p.TurnID == "" {
		// The same lease gives the same id, so that a repeated save is seen as one.
		p.TurnID = "turn_" + uuid.NewSHA1(uuid.NameSpaceOID, []byte(p.Lease.Token)).String()
	}
	if empty := []string{"", "null", "[]"}; slices.Contains(empty, string(p.Calls)) {
		p.Calls = nil
	}
	return m.store.SaveTurn(ctx, store.Turn{
		Lease: p.Lease, Key: p.Key, TurnID: p.TurnID, User: p.User, Answer: p.Answer, Calls: p.Calls,
		Sources: p.Sources, Status: p.Status, ServersRead: p.ServersRead, Language: p.Language,
	})
}

type claimParams struct {
	Limit int `json:"limit"`
}

func (m *memory) claimSummaries(ctx context.Context, p claimParams) (any, error) {
	if p.Limit < 0 || p.Limit > maxClaims {
		return nil, mcpservers.InvalidParams("limit must be from 1 to %d", maxClaims)
	}
	if p.Limit == 0 {
		p.Limit = 1
	}
	items, err := m.store.ClaimSummaries(ctx, p.Limit, claimTTL)
	for i := range items { // what is left out here is claimed next
		items[i].Messages, _ = shortened(oldest(items[i].Messages, pageBytes))
	}
	return struct {
		Items []store.SummaryWork `json:"items"`
	}{items}, err
}

type listParams struct {
	Owner string `json:"owner"`
	Q     string `json:"q"`
	Limit int    `json:"limit"`
	After string `json:"after"`
}

func (m *memory) list(ctx context.Context, p listParams) (any, error) {
	if p.Limit < 0 || p.Limit > maxList {
		return nil, mcpservers.InvalidParams("limit must be from 1 to %d", maxList)
	}
	if p.Limit == 0 {
		p.Limit = defaultList
	}
	return m.store.List(ctx, store.ListRequest{Owner: p.Owner, Query: p.Q, Limit: p.Limit, After: p.After})
}

type renameParams struct {
	ref
	Title string `json:"title"`
}

func (m *memory) rename(ctx context.Context, p renameParams) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	title := strings.TrimSpace(p.Title)
	if title == "" || len([]rune(title)) > maxTitle {
		return nil, mcpservers.InvalidParams("title must have 1 to %d characters", maxTitle)
	}
	return status("success", p.ConversationID), m.store.Rename(ctx, p.Owner, p.ConversationID, title)
}
