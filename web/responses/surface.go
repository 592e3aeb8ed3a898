package responses

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"molar/schemas"
	"molar/web/turns"
)

// Conversations is what continuing a response needs of the store of conversations.
type Conversations interface {
	// Messages returns the messages of the newest branch in order.
	Messages(ctx context.Context, owner, id string) ([]schemas.StoredMessage, string, bool, error)
	// Branch returns the messages of the branch that ends with the turn tip.
	Branch(ctx context.Context, owner, id, tip string) ([]schemas.StoredMessage, error)
}

// Files reads the files that stand beside stored questions.
type Files interface {
	Files(ctx context.Context, owner, id string) ([]schemas.File, error)
	File(ctx context.Context, owner, id string, seq int64, n int) (schemas.File, []byte, error)
}

// Traces gives the trace of a turn as JSON, and whether anything is known of it.
type Traces interface {
	Trace(ctx context.Context, owner, turnID string) (json.RawMessage, bool, error)
}

// Config is what the surface is built from. All but Store and Secret is required.
type Config struct {
	Turns         *turns.Host
	Conversations Conversations
	// Traces gives the trace of a turn, or what is stored of one that has none.
	Traces Traces
	// Store keeps responses; nil keeps the newest in memory alone.
	Store Store
	// Files are kept with conversations; nil means that none are.
	Files   Files
	Tools   func() []schemas.Tool
	Servers func() []schemas.ServerStatus
	// MayChoose reports whether this client may choose the model of a provider.
	MayChoose func(assistant, provider, model string) bool
	// Owner names whose responses a request may see.
	Owner func(*http.Request) string
	// Admit says why the client of a WebSocket may not begin another turn.
	Admit func(*http.Request) error
	// Secret returns the 32 bytes that seal what clients keep for the host; nil means that
	// they end with the process.
	Secret func(context.Context) ([]byte, error)
	// MaxMessages bounds the items of a request, MaxBody its bytes beside files.
	MaxMessages int
	MaxBody     int64
	// KeepAlive is how often a silent stream sends a comment.
	KeepAlive time.Duration
}

// A Surface answers the routes of the Responses API.
type Surface struct {
	Config

	mu sync.Mutex
	// live are the responses that are being told, and those that can be followed a while
	// longer, by id.
	live map[string]*live
	// ended are those that have, in their order; endedLog is how many bytes they hold.
	ended    []*live
	endedLog int

	sealing sync.Mutex
	seal    *Sealer
}

// New returns the surface.
func New(cfg Config) *Surface {
	if cfg.Store == nil {
		cfg.Store = newMemory()
	}
	if cfg.Secret == nil {
		cfg.Secret = processSecret()
	}
	return &Surface{Config: cfg, live: make(map[string]*live)}
}
