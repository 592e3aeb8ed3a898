package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"molar/internal/store"
	"molar/mcpservers"
	"molar/schemas"
)

const (
	// maxList bounds a page of a list, defaultList is its default.
	maxList, defaultList = 1000, 50
	// maxClaims bounds the conversations that one call claims.
	maxClaims = 100
	// maxTitle bounds a title, in runes.
	maxTitle = 200
	// maxSummary bounds a summary, in bytes: far above what a host writes, so that the beginning
	// of a turn fits into one answer.
	maxSummary = 512 << 10
)

type beginParams struct {
	ref
	Key string `json:"key"`
	// Parent is the turn to continue from, "" for a new root; absent, the newest branch
	// continues.
	Parent *string `json:"parent"`
	// Began is when the turn began at the host; absent, now.
	Began time.Time `json:"began"`
}

func (m *memory) beginTurn(ctx context.Context, p beginParams) (any, error) {
	unnamed := p.ConversationID == ""
	if err := p.checkOrMake(); err != nil {
		return nil, err
	}
	begun, err := m.store.BeginTurn(ctx, store.TurnRequest{
		Owner: p.Owner, ConversationID: p.ConversationID, AnyConversation: unnamed, Key: p.Key, Parent: p.Parent, Began: p.Began,
		TTL: m.leaseTTL, Most: pageBytes,
	})
	if err != nil {
		return nil, err
	}
	// No model reads so much, and clients bound their answers.
	var cut bool
	begun.Messages, cut = shortened(begun.Messages)
	begun.Partial = begun.Partial || cut
	return begun, nil
}

type renewParams struct {
	Lease schemas.Lease `json:"lease"`
	// TurnID and Discard are for end_turn alone: a saved turn that is to be deleted.
	Discard bool   `json:"discard"`
	TurnID  string `json:"turn_id"`
}

func (m *memory) renewTurn(ctx context.Context, p renewParams) (any, error) {
	if err := checkLease(p.Lease); err != nil {
		return nil, err
	}
	lease, err := m.store.RenewLease(ctx, p.Lease, m.leaseTTL)
	return struct {
		Lease schemas.Lease `json:"lease"`
	}{lease}, err
}

func (m *memory) endTurn(ctx context.Context, p renewParams) (any, error) {
	if err := checkLease(p.Lease); err != nil {
		return nil, err
	}
	if p.Discard && p.TurnID != "" {
		return status("deleted", p.Lease.ConversationID), m.store.DeleteTurn(ctx, p.Lease, p.TurnID)
	}
	return status("ended", p.Lease.ConversationID), m.store.EndTurn(ctx, p.Lease)
}

func checkLease(l schemas.Lease) error {
	if l.Token == "" || l.ConversationID == "" {
		return mcpservers.InvalidParams("lease is missing or incomplete, give back the one of memory/begin_turn")
	}
	return nil
}

func (m *memory) saveTurn(ctx context.Context, p store.Turn) (any, error) {
	if err := checkLease(p.Lease); err != nil {
		return nil, err
	}
	if p.Status != "" && p.Status != schemas.StatusInterrupted {
		return nil, mcpservers.InvalidParams("status is %q, it must be empty or %q", p.Status, schemas.StatusInterrupted)
	}
	if p.TurnID == "" {
		// The same lease gives the same id, so that a repeated save is recognised.
		p.TurnID = "turn_" + uuid.NewSHA1(uuid.NameSpaceOID, []byte(p.Lease.Token)).String()
	}
	if empty := []string{"", "null", "[]"}; slices.Contains(empty, string(p.Calls)) {
		p.Calls = nil
	}
	return m.store.SaveTurn(ctx, p)
}

type turnParams struct {
	TurnID string `json:"turn_id"`
	Owner  string `json:"owner"`
}

func (m *memory) getTurn(ctx context.Context, p turnParams) (any, error) {
	if p.TurnID == "" {
		return nil, mcpservers.InvalidParams("turn_id is missing")
	}
	t, err := m.store.Turn(ctx, p.Owner, p.TurnID)
	texts, _ := shortened([]schemas.StoredMessage{{Content: t.Question}, {Content: t.Answer}})
	t.Question, t.Answer = texts[0].Content, texts[1].Content
	return t, err
}

type claimParams struct {
	Limit int `json:"limit"`
	// Least omits conversations with fewer messages that have no summary.
	Least int `json:"least"`
	// Titles adds conversations that only need a title.
	Titles bool `json:"titles"`
}

func (m *memory) claimSummaries(ctx context.Context, p claimParams) (any, error) {
	if p.Limit < 0 || p.Limit > maxClaims {
		return nil, mcpservers.InvalidParams("limit must be from 1 to %d", maxClaims)
	}
	if p.Limit == 0 {
		p.Limit = 1
	}
	items, err := m.store.ClaimSummaries(ctx, p.Limit, p.Least, p.Titles, claimTTL)
	for i := range items { // what is omitted here is claimed next
		items[i].Messages, _ = shortened(oldest(items[i].Messages, pageBytes))
	}
	return struct {
		Items []schemas.SummaryWork `json:"items"`
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
	// Suggested is set for a model's title, which replaces no other.
	Suggested bool `json:"suggested"`
}

func (m *memory) rename(ctx context.Context, p renameParams) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	title := strings.TrimSpace(p.Title)
	if title == "" || len([]rune(title)) > maxTitle {
		return nil, mcpservers.InvalidParams("title must have 1 to %d characters", maxTitle)
	}
	if p.Suggested {
		return status("success", p.ConversationID), m.store.SuggestTitle(ctx, p.Owner, p.ConversationID, title)
	}
	return status("success", p.ConversationID), m.store.Rename(ctx, p.Owner, p.ConversationID, title)
}
