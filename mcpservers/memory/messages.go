package memory

import (
	"context"
	"slices"

	"molar/internal/store"
	"molar/mcpservers"
	"molar/schemas"
)

// plain returns messages in the form of the documented methods, without an answer that is being
// written.
func plain(messages []schemas.StoredMessage) []store.Message {
	lines := make([]store.Message, 0, len(messages))
	for _, m := range messages {
		if m.Status != schemas.StatusRunning {
			lines = append(lines, store.Message{Role: m.Role, Content: m.Content})
		}
	}
	return lines
}

// status returns the answer of the methods that change something.
func status(word, id string) any {
	return struct {
		Status         string `json:"status"`
		ConversationID string `json:"conversation_id"`
	}{word, id}
}

func (m *memory) getOrCreate(ctx context.Context, p ref) (any, error) {
	if err := p.checkOrMake(); err != nil {
		return nil, err
	}
	if err := m.store.Ensure(ctx, p.Owner, p.ConversationID); err != nil {
		return nil, err
	}
	return struct {
		ConversationID string `json:"conversation_id"`
	}{p.ConversationID}, nil
}

type contextParams struct {
	ref
	MaxMessages *int `json:"max_messages"`
}

func (m *memory) getContext(ctx context.Context, p contextParams) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	last := m.keep
	if p.MaxMessages != nil {
		if *p.MaxMessages < 1 {
			return nil, mcpservers.InvalidParams("max_messages must be at least 1")
		}
		last = min(last, *p.MaxMessages)
	}
	messages, err := m.store.Recent(ctx, p.Owner, p.ConversationID, last)
	return struct {
		Messages []store.Message `json:"messages"`
	}{messages}, err
}

type allParams struct {
	ref
	// Full requests all stored fields of each message, not only role and content.
	Full bool `json:"full"`
	// Limit requests a page of at most that many messages, After those after a position from an
	// earlier page.
	Limit int   `json:"limit"`
	After int64 `json:"after"`
	// Tip requests the branch that ends with that turn, Tree the messages of all branches; by
	// default it is the newest branch.
	Tip  string `json:"tip"`
	Tree bool   `json:"tree"`
}

func (m *memory) getAllMessages(ctx context.Context, p allParams) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	messages, next, err := m.page(ctx, p)
	if p.Full {
		return struct {
			Messages []schemas.StoredMessage `json:"messages"`
			Next     int64                   `json:"next,omitempty"`
		}{messages, next}, err
	}
	return struct {
		Messages []store.Message `json:"messages"`
		Next     int64           `json:"next,omitempty"`
	}{plain(messages), next}, err
}

// page reads all messages, or the requested page and where the next begins.
func (m *memory) page(ctx context.Context, p allParams) ([]schemas.StoredMessage, int64, error) {
	switch {
	case p.Limit < 0 || p.Limit > maxPage:
		return nil, 0, mcpservers.InvalidParams("limit must be from 1 to %d", maxPage)
	case p.After < 0 || (p.After > 0 && p.Limit == 0):
		return nil, 0, mcpservers.InvalidParams("after must be the next of an earlier page, and needs a limit")
	}
	branch := store.Branch{Tip: p.Tip, Tree: p.Tree}
	if p.Limit == 0 {
		messages, _, err := m.store.Messages(ctx, p.Owner, p.ConversationID, store.MessageRange{Branch: branch})
		return messages, 0, err
	}
	messages, next, err := m.store.MessagesAfter(ctx, p.Owner, p.ConversationID, branch, p.After, p.Limit)
	if n := fitting(messages, pageBytes); n < len(messages) {
		messages = messages[:n]
		next = messages[n-1].Seq
	}
	return messages, next, err
}

// getOldMessages returns the messages before the newest ones. total_count counts all messages,
// old and recent.
func (m *memory) getOldMessages(ctx context.Context, p ref) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	messages, total, err := m.store.Messages(ctx, p.Owner, p.ConversationID,
		store.MessageRange{SkipLast: m.keep, Uncovered: m.compress})
	return struct {
		Messages   []store.Message `json:"messages"`
		TotalCount int             `json:"total_count"`
	}{plain(messages), total}, err
}

type addParams struct {
	ref
	Role    schemas.Role `json:"role"`
	Content *string      `json:"content"`
}

func (m *memory) addMessage(ctx context.Context, p addParams) (any, error) {
	if err := p.checkOrMake(); err != nil {
		return nil, err
	}
	if !slices.Contains([]schemas.Role{schemas.RoleUser, schemas.RoleAssistant, schemas.RoleSystem}, p.Role) {
		return nil, mcpservers.InvalidParams("role is %q, it must be user, assistant or system", p.Role)
	}
	if p.Content == nil {
		return nil, mcpservers.InvalidParams("content is missing")
	}
	err := m.store.AddMessage(ctx, p.Owner, p.ConversationID, store.Message{Role: p.Role, Content: *p.Content})
	return status("success", p.ConversationID), err
}

// getSummary also serves get_or_create_summary: this server has no model to create a summary, so
// an empty one means that the caller must.
func (m *memory) getSummary(ctx context.Context, p ref) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	s, err := m.store.Summary(ctx, p.Owner, p.ConversationID)
	return struct {
		Summary string `json:"summary"`
	}{s.Text}, err
}

type summaryParams struct {
	ref
	Summary *string `json:"summary"`
	// Covers is the seq of the summary's last message; absent, it covers all messages.
	Covers *int64 `json:"covers"`
}

func (m *memory) setSummary(ctx context.Context, p summaryParams) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.Summary == nil {
		return nil, mcpservers.InvalidParams("summary is missing")
	}
	if len(*p.Summary) > maxSummary {
		return nil, mcpservers.InvalidParams("summary has %d bytes, at most %d are allowed", len(*p.Summary), maxSummary)
	}
	if p.Covers != nil && *p.Covers < 0 {
		return nil, mcpservers.InvalidParams("covers must not be below 0")
	}
	err := m.store.SetSummary(ctx, p.Owner, p.ConversationID, *p.Summary, p.Covers)
	return status("success", p.ConversationID), err
}

type pieceParams struct {
	ref
	schemas.Piece
}

// addPiece stores the summary of one exchange.
func (m *memory) addPiece(ctx context.Context, p pieceParams) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if n := max(len(p.Text), len(p.Condensed)); n > maxSummary {
		return nil, mcpservers.InvalidParams("summary has %d bytes, at most %d are allowed", n, maxSummary)
	}
	err := m.store.AddPiece(ctx, p.Owner, p.ConversationID, p.Piece)
	return status("success", p.ConversationID), err
}

func (m *memory) clear(ctx context.Context, p ref) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return status("cleared", p.ConversationID), m.store.Clear(ctx, p.Owner, p.ConversationID)
}

func (m *memory) delete(ctx context.Context, p ref) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return status("deleted", p.ConversationID), m.store.Delete(ctx, p.Owner, p.ConversationID)
}

type eraseParams struct {
	Owner string `json:"owner"`
}

// erase deletes all that is an owner's, for good. What a turn of theirs that began before would store
// afterwards is not stored.
func (m *memory) erase(ctx context.Context, p eraseParams) (any, error) {
	erased, err := m.store.ErasePerson(ctx, p.Owner)
	if err != nil {
		return nil, err
	}
	return map[string]schemas.Erased{"erased": erased}, nil
}
