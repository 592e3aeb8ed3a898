package mcpclients

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/internal/text"
	"molar/mcpclients/transport"
	"molar/schemas"
)

const (
	methodListPrompts    = "prompts/list"
	methodPromptsChanged = "notifications/prompts/list_changed"
)

// Limits of the prompts of one server.
const (
	maxPrompts     = 200
	maxPromptPages = 50
	// maxPromptText bounds a name or a description, in bytes.
	maxPromptText = 2 << 10
	// promptsWait is how long one list may take; a slower server is left out.
	promptsWait = 3 * time.Second
	// promptsAge is how long the list of a server that does not report changes is used.
	promptsAge = time.Minute
)

// A promptCache holds a server's prompts.
type promptCache struct {
	mu       sync.Mutex
	offered  bool // the server has prompts
	notifies bool // it reports changes
	list     []schemas.Prompt
	read     time.Time // zero when the list must be read
}

// attached records the prompt capability of a server that became ready. A server without a
// handshake may have prompts.
func (c *promptCache) attached(info serverInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	offers := info.Capabilities.Prompts
	c.offered = offers != nil || info.Protocol == ""
	c.notifies = offers != nil && offers.ListChanged && info.Protocol != transport.ProtocolStateless
	c.list, c.read = nil, time.Time{}
}

// changed marks the list as stale.
func (c *promptCache) changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = time.Time{}
}

// current returns the list, and whether it must be reread.
func (c *promptCache) current() (list []schemas.Prompt, stale bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.offered {
		return nil, false
	}
	return c.list, c.read.IsZero() || !c.notifies && time.Since(c.read) > promptsAge
}

// Prompts returns the prompts of a ready server for who asks, and the last list if it cannot be read.
func (s *server) Prompts(ctx context.Context, who schemas.Caller) []schemas.Prompt {
	if s.seats != nil {
		return s.seats.prompts(ctx, who)
	}
	live := s.conn.Load()
	if live == nil {
		return nil
	}
	list, stale := s.prompts.current()
	if !stale {
		return slices.Clone(list)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, promptsWait)
	defer cancel()
	fresh, err := readPrompts(ctx, live.Conn, s.Name())
	if err != nil && !transport.Answered(err) {
		s.log.Warn("the prompts of an MCP server could not be listed", "error", err)
		return slices.Clone(list)
	}
	s.prompts.mu.Lock()
	defer s.prompts.mu.Unlock()
	s.prompts.list, s.prompts.read = fresh, began
	return slices.Clone(fresh)
}

// readPrompts reads the whole list, page by page.
func readPrompts(ctx context.Context, conn transport.Conn, server string) ([]schemas.Prompt, error) {
	var prompts []schemas.Prompt
	cursor := ""
	for range maxPromptPages {
		params, err := json.Marshal(struct {
			Cursor string `json:"cursor,omitempty"`
		}{cursor})
		if err != nil {
			return nil, err
		}
		raw, err := conn.Request(ctx, methodListPrompts, params)
		if err != nil {
			return nil, err
		}
		var page struct {
			Prompts    []json.RawMessage `json:"prompts"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("answer to %s: %w", methodListPrompts, err)
		}
		for _, raw := range page.Prompts {
			if p, ok := decodePrompt(raw, server); ok && len(prompts) < maxPrompts {
				prompts = append(prompts, p)
			}
		}
		if page.NextCursor == "" || page.NextCursor == cursor || len(prompts) >= maxPrompts {
			break
		}
		cursor = page.NextCursor
	}
	slices.SortStableFunc(prompts, func(a, b schemas.Prompt) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(prompts, func(a, b schemas.Prompt) bool { return a.Name == b.Name }), nil
}

// decodePrompt reads one prompt of a list. It rejects a name that cannot be typed.
func decodePrompt(raw json.RawMessage, server string) (schemas.Prompt, bool) {
	var p schemas.Prompt
	if json.Unmarshal(raw, &p) != nil || p.Name == "" || len(p.Name) > maxPromptText || p.Name != text.Visible(p.Name) || strings.ContainsAny(p.Name, " \t\n") {
		return schemas.Prompt{}, false
	}
	p.Server = server
	p.Title, p.Description = text.Shorten(text.Visible(p.Title), maxPromptText), text.Shorten(text.Visible(p.Description), maxPromptText)
	for i, a := range p.Arguments {
		p.Arguments[i].Name, p.Arguments[i].Description = text.Shorten(text.Visible(a.Name), maxPromptText), text.Shorten(text.Visible(a.Description), maxPromptText)
	}
	return p, true
}
