package offer

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"molar/agent/prompts"
	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

// The names of the tools that read the rest of results.
const (
	ReadResult   = "read_result"
	ReadResource = "read_resource"
)

// KeptResults stores the whole texts of results beyond their turn.
type KeptResults interface {
	KeepResult(ctx context.Context, r schemas.KeptResult) error
	// GetKeptResult returns a text, and false if it is not or no longer kept.
	GetKeptResult(ctx context.Context, owner, conversationID, id string) (schemas.KeptResult, bool, error)
	// HasKeptResults reports whether texts of a conversation are kept.
	HasKeptResults(ctx context.Context, owner, conversationID string) (bool, error)
}

// ResultsConfig configures [Results].
type ResultsConfig struct {
	// Store keeps whole texts for the conversation; nil keeps them for the turn.
	Store KeptResults
	// Owner and ConversationID are the conversation's in the store.
	Owner, ConversationID string
	// Started is when the turn began.
	Started time.Time
	// Resource reads a resource of a server: its text, and the images and the like in it.
	Resource func(ctx context.Context, server, uri string) (string, []schemas.Part, error)
	Log      *slog.Logger
}

const (
	// MaxKept bounds one kept text, in bytes; maxTurn those that a turn holds in memory, together.
	MaxKept, maxTurn = 8 << 20, 64 << 20
	// minShown is the fewest bytes of a result that are worth showing.
	minShown = 256
)

// Results holds the results of one conversation. It is safe for concurrent use.
type Results struct {
	cfg ResultsConfig

	mu sync.Mutex
	// limit is how many bytes of a result a model is shown; 0 means any number.
	limit int
	// cut is set once the model was shown a part of a result.
	cut bool
	// whole are the texts that this turn holds, by id, and order their ids, oldest first. pending
	// are those to be stored with the turn.
	whole     map[string]schemas.KeptResult
	order     []string
	pending   []string
	size      int
	resources map[string]string // the server by the address that its result named
}

// NewResults returns an empty set.
func NewResults(cfg ResultsConfig) *Results {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Results{cfg: cfg, whole: make(map[string]schemas.KeptResult), resources: make(map[string]string)}
}

// Limit sets how many bytes of each further result a model is shown.
func (k *Results) Limit(bytes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.limit = max(bytes, minShown)
}

// Show returns a result as a model is shown it, within the limit.
func (k *Results) Show(ctx context.Context, r schemas.ToolResult) schemas.ToolResult {
	k.mu.Lock()
	limit := k.limit
	k.mu.Unlock()
	return k.Shorten(ctx, r, limit)
}

// Shorten returns a result of which a model is shown at most so many bytes, 0 for any number. The
// whole text is kept, so that read_result can read it. A result without an id is not kept.
func (k *Results) Shorten(ctx context.Context, r schemas.ToolResult, bytes int) schemas.ToolResult {
	short, whole := k.shorten(r, bytes)
	if whole != nil && !k.store(ctx, *whole) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.hold(*whole)
	}
	return short
}

// Hold is [Results.Shorten] for a text that is not stored before [Results.Store].
func (k *Results) Hold(r schemas.ToolResult, bytes int) schemas.ToolResult {
	short, whole := k.shorten(r, bytes)
	if whole != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.hold(*whole)
		if !slices.Contains(k.pending, r.ID) {
			k.pending = append(k.pending, r.ID)
		}
	}
	return short
}

// HoldText holds a text that is stored with [Results.Store].
func (k *Results) HoldText(r schemas.KeptResult) {
	if len(r.Text) > MaxKept {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hold(r)
	k.pending = append(k.pending, r.ID)
}

// Text returns a kept text.
func (k *Results) Text(ctx context.Context, id string) (r schemas.KeptResult, known bool) {
	r, known, _ = k.lookUp(ctx, id)
	return r, known
}

// Store stores the texts that are only held so far.
func (k *Results) Store(ctx context.Context) {
	k.mu.Lock()
	var held []schemas.KeptResult
	for _, id := range k.pending {
		if r, holds := k.whole[id]; holds {
			held = append(held, r)
		}
	}
	k.pending = nil
	k.mu.Unlock()
	for _, r := range held {
		k.store(ctx, r)
	}
}

// shorten returns a result within so many bytes, and its whole text if that must be kept.
func (k *Results) shorten(r schemas.ToolResult, bytes int) (short schemas.ToolResult, whole *schemas.KeptResult) {
	if short = prompts.Shorten(r, bytes); short.Cut == nil || r.ID == "" {
		return short, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = true
	if r.Cut != nil { // it was kept then
		return short, nil
	}
	return short, &schemas.KeptResult{
		ID: r.ID, Server: r.Server, Text: bounded(r.OutputText()),
	}
}

// bounded returns as much of a text as is kept.
func bounded(s string) string { return s[:text.Border(s, MaxKept)] }

// store stores a text for the conversation and reports whether it did.
func (k *Results) store(ctx context.Context, r schemas.KeptResult) bool {
	if k.cfg.Store == nil {
		return false
	}
	r.Owner, r.ConversationID, r.Started = k.cfg.Owner, k.cfg.ConversationID, k.cfg.Started
	err := k.cfg.Store.KeepResult(context.WithoutCancel(ctx), r)
	if err != nil {
		k.cfg.Log.Warn("a long text could not be stored; it can be read on during this turn only", "id", r.ID, "error", err)
	}
	return err == nil
}

// hold holds a text for the turn, in place of the oldest ones if they are too large together. The
// caller has the lock.
func (k *Results) hold(r schemas.KeptResult) {
	if _, known := k.whole[r.ID]; known {
		return
	}
	k.whole[r.ID], k.order = r, append(k.order, r.ID)
	for k.size += len(r.Text); k.size > maxTurn && len(k.order) > 1; k.order = k.order[1:] {
		k.size -= len(k.whole[k.order[0]].Text)
		delete(k.whole, k.order[0])
	}
}

// Add adds earlier results, as the model is shown them. An address is read from the server that
// named it first.
func (k *Results) Add(results ...schemas.ToolResult) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range results {
		switch {
		case r.Cut != nil:
			k.cut = true
		case r.ID != "":
			k.hold(schemas.KeptResult{ID: r.ID, Server: r.Server, Text: r.OutputText()}) // a later prompt may cut it
		}
		for _, link := range r.Resources {
			if _, known := k.resources[link.URI]; !known && r.Server != "" {
				k.resources[link.URI] = r.Server
			}
		}
	}
}

// Cut records that the model is shown a part of earlier results. Their texts are stored with the
// turn.
func (k *Results) Cut(results ...schemas.ToolResult) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range results {
		if r.Cut == nil {
			continue
		}
		k.cut = true
		if _, holds := k.whole[r.ID]; holds && !slices.Contains(k.pending, r.ID) {
			k.pending = append(k.pending, r.ID)
		}
	}
}

// Recall offers read_result if texts of the conversation are kept, also those of exchanges that are
// not shown any more: the tools come first in a prompt, and should stay the same.
func (k *Results) Recall(ctx context.Context) {
	if k.cfg.Store == nil {
		return
	}
	kept, err := k.cfg.Store.HasKeptResults(ctx, k.cfg.Owner, k.cfg.ConversationID)
	if err != nil {
		k.cfg.Log.Warn("the kept results of a conversation cannot be read", "error", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = k.cut || kept
}

// Wanted returns the tools that have something to read.
func (k *Results) Wanted() []schemas.ToolInfo {
	k.mu.Lock()
	defer k.mu.Unlock()
	var wanted []schemas.ToolInfo
	if k.cut {
		wanted = append(wanted, readResult())
	}
	if len(k.resources) > 0 {
		wanted = append(wanted, readResource())
	}
	return wanted
}

// Tools returns both tools, to be executed.
func (k *Results) Tools() []toolhandler.HostTool {
	return []toolhandler.HostTool{{Info: readResult(), Call: k.readResult}, {Info: readResource(), Call: k.readResource}}
}

func readResult() schemas.ToolInfo {
	return schemas.ToolInfo{
		Name: ReadResult, ToolName: ReadResult,
		Description: "Reads on in a text that was too long to be shown whole, or searches it. The place where it was cut names the text and where to go on.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"result":{"type":"string","description":"The text, as the cut names it"},` +
			`"from":{"type":"integer","minimum":0,"description":"The byte to read or search from"},` +
			`"find":{"type":"string","minLength":1,"maxLength":200,"description":"Words to search for; gives the lines around each place"}},"required":["result"],"additionalProperties":false}`),
	}
}

func readResource() schemas.ToolInfo {
	return schemas.ToolInfo{
		Name: ReadResource, ToolName: ReadResource,
		Description: "Reads a resource whose address stands in a tool result, from the server that gave the result.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string","description":"The address, exactly as it stands in the result"}},"required":["uri"],"additionalProperties":false}`),
	}
}

// readResult returns a piece of a kept text with its range, or the places of some words.
func (k *Results) readResult(ctx context.Context, args json.RawMessage) (schemas.ToolResult, error) {
	var in struct {
		Result string `json:"result"`
		From   int    `json:"from"`
		Find   string `json:"find"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return schemas.ToolResult{}, fmt.Errorf("read the arguments: %w", err)
	}
	r, known, limit := k.lookUp(ctx, in.Result)
	switch {
	case !known:
		return fault("the text %q is not kept, or no longer; name it as the cut does, or call its tool again", in.Result), nil
	case in.From < 0 || in.From >= len(r.Text):
		return fault("the text has %d bytes; read from 0 to %d", len(r.Text), len(r.Text)-1), nil
	}
	output := piece(r.Text, in.From, limit)
	if in.Find != "" {
		output = places(r.Text, in.Find, in.From, limit)
	}
	return schemas.ToolResult{Output: schemas.TextOutput(output), Server: r.Server}, nil
}

// lookUp returns a kept text and how much of it may be shown at a time.
func (k *Results) lookUp(ctx context.Context, id string) (r schemas.KeptResult, known bool, limit int) {
	k.mu.Lock()
	r, known = k.whole[id]
	limit = k.limit
	k.mu.Unlock()
	if known || k.cfg.Store == nil {
		return r, known, limit
	}
	r, known, err := k.cfg.Store.GetKeptResult(ctx, k.cfg.Owner, k.cfg.ConversationID, id)
	if err != nil {
		k.cfg.Log.Warn("a kept result cannot be read", "result", id, "error", err)
	}
	return r, known && err == nil, limit
}

// readResource reads an address that a result named.
func (k *Results) readResource(ctx context.Context, args json.RawMessage) (schemas.ToolResult, error) {
	var in struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return schemas.ToolResult{}, fmt.Errorf("read the arguments: %w", err)
	}
	k.mu.Lock()
	server, known := k.resources[in.URI]
	k.mu.Unlock()
	if !known {
		return fault("no tool result names the resource %q; use an address exactly as it stands there", in.URI), nil
	}
	text, media, err := k.cfg.Resource(ctx, server, in.URI)
	if ctx.Err() != nil {
		return schemas.ToolResult{}, context.Cause(ctx)
	}
	result := schemas.ToolResult{Output: schemas.TextOutput(text)}
	if err != nil {
		result = fault("%v", err)
	}
	result.Server, result.Media = server, media
	return result, nil
}

// fault returns an error result that tells the model how to correct the call.
func fault(format string, args ...any) schemas.ToolResult {
	return schemas.ToolResult{Output: schemas.TextOutput(fmt.Sprintf(format, args...)), IsError: true}
}
