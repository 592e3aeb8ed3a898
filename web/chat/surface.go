// Package chat is OpenAI's Chat Completions API over the turns of a host: it reads requests, and
// writes the events of a turn as chunks or as one completion.
package chat

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"molar/agent"
	"molar/schemas"
	"molar/web/pages"
	"molar/web/turns"
	"molar/web/wire"
)

// Branches reads the branch of a conversation that ends with the turn tip.
type Branches interface {
	Branch(ctx context.Context, owner, id, tip string) ([]schemas.StoredMessage, error)
}

// A TraceStore returns the trace of a turn, and whether there is one.
type TraceStore interface {
	Trace(ctx context.Context, owner, turnID string) (json.RawMessage, bool, error)
}

// Config configures the surface. All fields are required.
type Config struct {
	Turns         *turns.Host
	Conversations Branches
	Traces        TraceStore
	// HTML returns the renderer of answers for pages.
	HTML func() *pages.HTML
	// MayChoose reports whether this client may choose the model of a provider.
	MayChoose func(assistant, provider, model string) bool
	// Owner returns the owner whose conversations a request may see.
	Owner func(*http.Request) string
	// SetOrigins sets whose words the texts of a request's turn are.
	SetOrigins func(*http.Request, *agent.Turn)
	// MaxMessages is the maximum number of messages of a request, MaxBody its maximum size in
	// bytes without files.
	MaxMessages int
	MaxBody     int64
	// KeepAlive is the interval at which a silent stream sends a comment.
	KeepAlive time.Duration
}

// A Surface answers the routes of Chat Completions.
type Surface struct {
	Config

	schemas wire.SchemaCheck
}

// New returns the surface.
func New(cfg Config) *Surface { return &Surface{Config: cfg} }
