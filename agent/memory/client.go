// Package memory is the agent's side of the memory server: the client that opens and
// saves turns over MCP, and the worker that writes summaries in the background.
//
// It reaches the server through a [Requester], independent of transport and store.
package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"molar/schemas"
)

// ServerName is the reserved name of the memory server.
const ServerName = schemas.MemoryServer

// ErrUnknown is returned for a conversation that the server does not have.
var ErrUnknown = errors.New("unknown conversation")

// ErrStale is returned when a turn may not be saved because a later turn of the same
// conversation has begun.
var ErrStale = errors.New("a later turn of this conversation has begun")

// ErrBusy is returned when another turn of the conversation ran longer than the caller would wait.
var ErrBusy = errors.New("another turn of this conversation is still running")

// ErrNoParent is returned when the parent turn is not in the conversation.
var ErrNoParent = errors.New("the turn to continue from does not exist in this conversation")

// ErrForeign is returned when the server at memory.url is an MCP server without the methods to
// store a host's conversations.
var ErrForeign = errors.New("the memory server cannot keep conversations for a host, as it does not know the method that was asked for; " +
	"set memory.url to the address of a molar mcp, or leave it out")

// Error codes of the memory server, and of other MCP servers for an unknown method.
const (
	codeNotFound       = -32001
	codeStale          = -32003
	codeBusy           = -32004
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
)

// A Requester sends one JSON-RPC request to an MCP server and decodes its result.
type Requester interface {
	Request(ctx context.Context, server, method string, params, result any) error
}

// Client calls the memory server's own methods. It is safe for concurrent use.
type Client struct {
	to    Requester
	lines lines
}

// New returns a client of the memory server behind the requester.
func New(to Requester) (*Client, error) {
	if to == nil {
		return nil, errors.New("memory client needs a requester")
	}
	return &Client{to: to}, nil
}

// List returns a page of an owner's conversations, newest first, and the cursor of
// the next page, empty at the end. q filters by title and content.
func (c *Client) List(ctx context.Context, owner, q string, limit int, after string) ([]schemas.Conversation, string, error) {
	params := map[string]any{"owner": owner, "q": q, "limit": limit, "after": after}
	var page struct {
		Conversations []schemas.Conversation `json:"conversations"`
		Next          string                 `json:"next"`
	}
	err := c.request(ctx, "memory/list", params, &page)
	return page.Conversations, page.Next, err
}

// Messages returns the newest branch of a conversation and its summary, and false if it does not
// exist.
func (c *Client) Messages(ctx context.Context, owner, id string) ([]schemas.StoredMessage, string, bool, error) {
	messages, err := c.Branch(ctx, owner, id, "")
	if err != nil {
		return nil, "", false, err
	}
	var sum struct {
		Summary string `json:"summary"`
	}
	if err := c.request(ctx, "memory/get_summary", map[string]string{"conversation_id": id, "owner": owner}, &sum); err != nil {
		return nil, "", false, err
	}
	if len(messages) > 0 || sum.Summary != "" {
		return messages, sum.Summary, true, nil
	}
	known, err := c.exists(ctx, owner, id)
	return nil, "", known, err
}

// messagesAtOnce is the page size of a history: a response is bounded in size, a history is not.
const messagesAtOnce = 1000

// Branch returns the messages of the branch that ends with the turn tip, or of the newest branch if
// tip is empty.
func (c *Client) Branch(ctx context.Context, owner, id, tip string) ([]schemas.StoredMessage, error) {
	params := map[string]any{}
	if tip != "" {
		params["tip"] = tip
	}
	return c.pages(ctx, owner, id, params)
}

// Tree returns the messages of all branches, each with the number of the one before it.
func (c *Client) Tree(ctx context.Context, owner, id string) ([]schemas.StoredMessage, error) {
	return c.pages(ctx, owner, id, map[string]any{"tree": true})
}

// pages reads a history page by page.
func (c *Client) pages(ctx context.Context, owner, id string, params map[string]any) ([]schemas.StoredMessage, error) {
	var all []schemas.StoredMessage
	params["conversation_id"], params["owner"], params["full"], params["limit"] = id, owner, true, messagesAtOnce
	for after := int64(0); ; {
		params["after"] = after
		var page struct {
			Messages []schemas.StoredMessage `json:"messages"`
			Next     int64                   `json:"next"`
		}
		if err := c.request(ctx, "memory/get_all_messages", params, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Messages...)
		if page.Next <= after {
			return all, nil
		}
		after = page.Next
	}
}

// exists reports whether an empty conversation was cleared, not missing: both read as empty, but
// only the first is a resource.
func (c *Client) exists(ctx context.Context, owner, id string) (bool, error) {
	params := map[string]string{"uri": "memory://conversation/" + url.PathEscape(id), "owner": owner}
	err := c.request(ctx, "resources/read", params, nil)
	if errors.Is(err, ErrUnknown) {
		return false, nil
	}
	return err == nil, err
}

// Rename sets the title of a conversation.
func (c *Client) Rename(ctx context.Context, owner, id, title string) error {
	return c.request(ctx, "memory/rename", map[string]string{"conversation_id": id, "owner": owner, "title": title}, nil)
}

// SuggestTitle sets a model's title for a conversation, unless a model or a person has set one.
func (c *Client) SuggestTitle(ctx context.Context, owner, id, title string) error {
	params := map[string]any{"conversation_id": id, "owner": owner, "title": title, "suggested": true}
	return c.request(ctx, "memory/rename", params, nil)
}

// Clear deletes the messages and the summary of a conversation.
func (c *Client) Clear(ctx context.Context, owner, id string) error {
	return c.request(ctx, "memory/clear", map[string]string{"conversation_id": id, "owner": owner}, nil)
}

// Delete deletes a conversation.
func (c *Client) Delete(ctx context.Context, owner, id string) error {
	return c.request(ctx, "memory/delete", map[string]string{"conversation_id": id, "owner": owner}, nil)
}

// Erase deletes all conversations of an owner, for good, and returns how many things of each kind were
// deleted. What a turn that began before would store afterwards is not stored.
func (c *Client) Erase(ctx context.Context, owner string) (schemas.Erased, error) {
	var done struct {
		Erased schemas.Erased `json:"erased"`
	}
	err := c.request(ctx, "memory/erase", map[string]string{"owner": owner}, &done)
	return done.Erased, err
}

// ClaimSummary claims a branch of a conversation whose summary is due and lacks least messages or more, or, with
// titles, one without a title; nil if there is none. No other worker gets it for a minute: models are slow.
func (c *Client) ClaimSummary(ctx context.Context, least int, titles bool) (*schemas.SummaryWork, error) {
	var claimed struct {
		Items []schemas.SummaryWork `json:"items"`
	}
	err := c.request(ctx, "memory/claim_summaries", map[string]any{"limit": 1, "least": least, "titles": titles}, &claimed)
	if err != nil || len(claimed.Items) == 0 {
		return nil, err
	}
	return &claimed.Items[0], nil
}

// AddPiece stores the summary of one exchange.
func (c *Client) AddPiece(ctx context.Context, owner, id string, p schemas.Piece) error {
	params := struct {
		ConversationID string `json:"conversation_id"`
		Owner          string `json:"owner"`
		schemas.Piece
	}{id, owner, p}
	return c.request(ctx, "memory/add_piece", params, nil)
}

func (c *Client) request(ctx context.Context, method string, params, result any) error {
	if result == nil {
		result = new(json.RawMessage)
	}
	err := c.to.Request(ctx, ServerName, method, params, result)
	known := map[int]error{codeNotFound: ErrUnknown, codeBusy: ErrBusy, codeStale: ErrStale}
	switch code := codeOf(err); {
	case known[code] != nil:
		return fmt.Errorf("%w: %w", known[code], err)
	case code == codeMethodNotFound,
		// Some servers report an unknown method as invalid params. Ours names the wrong one.
		code == codeInvalidParams && !strings.Contains(err.Error(), "Invalid params: "):
		return fmt.Errorf("%w (%s)", ErrForeign, method)
	}
	return err
}

// codeOf returns the JSON-RPC code of an error, 0 for any other.
func codeOf(err error) int {
	if e, ok := errors.AsType[interface {
		error
		RPCCode() int
	}](err); ok {
		return e.RPCCode()
	}
	return 0
}

// Lasting reports whether a retry would fail in the same way.
func Lasting(err error) bool {
	for _, target := range []error{ErrBusy, ErrNoParent, ErrForeign, ErrStale} {
		if errors.Is(err, target) {
			return true
		}
	}
	return codeOf(err) == codeInvalidParams
}
