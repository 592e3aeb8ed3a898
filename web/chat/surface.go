// Package chat is the Chat Completions API over the turns of a host: what its requests ask
// for, and how what a turn yields is written as chunks or as one completion.
package chat

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"molar/schemas"
	"molar/web/pages"
	"molar/web/turns"
)

// A Branches source reads the branch of a conversation that ends with the turn tip.
type Branches interface {
	Branch(ctx context.Context, owner, id, tip string) ([]schemas.StoredMessage, error)
}

// A TraceStore gives the trace of a turn, and whether there is one.
type TraceStore interface {
	Trace(ctx context.Context, owner, turnID string) (json.RawMessage, bool, error)
}

// Config is what the surface is built from. All is required.
type Config struct {
	Turns         *turns.Host
	Conversations Branches
	Traces        TraceStore
	// HTML writes answers for pages.
	HTML func() *pages.HTML
	// MayChoose reports whether this client may choose the model of a provider.
	MayChoose func(assistant, provider, model string) bool
	// Owner names whose conversations a request may see.
	Owner func(*http.Request) string
	// MaxMessages bounds the messages of a request, MaxBody its bytes beside files.
	MaxMessages int
	MaxBody     int64
	// KeepAlive is how often a silent stream sends a comment.
	KeepAlive time.Duration
}

// A Surface answers the routes of Chat Completions.
type Surface struct{ Config }

// New returns the surface.
func New(cfg Config) *Surface { return &Surface{cfg} }
