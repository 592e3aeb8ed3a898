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

// Conversations reads what continuing a response needs from the store of conversations.
type Conversations interface {
	// Messages returns the messages of the newest branch in order.
	Messages(ctx context.Context, owner, id string) ([]schemas.StoredMessage, string, bool, error)
	// Branch returns the messages of the branch that ends with the turn tip.
	Branch(ctx context.Context, owner, id, tip string) ([]schemas.StoredMessage, error)
}

// Files reads the files attached to stored questions.
type Files interface {
	Files(ctx context.Context, owner, id string) ([]schemas.File, error)
	File(ctx context.Context, owner, id string, seq int64, n int) (schemas.File, []byte, error)
}

// Traces returns the trace of a turn as JSON, and whether anything is known of it.
type Traces interface {
	Trace(ctx context.Context, owner, turnID string) (json.RawMessage, bool, error)
}

// Config configures the surface. All fields but Store, Secret and Files are required.
type Config struct {
	Turns         *turns.Host
	Conversations Conversations
	// Traces returns the trace of a turn, or what is stored of one without a trace.
	Traces Traces
	// Store keeps responses; nil keeps the newest in memory alone.
	Store Store
	// Files are stored with conversations; nil means that none are.
	Files   Files
	Tools   func() []schemas.Tool
	Servers func() []schemas.ServerStatus
	// MayChoose reports whether this client may choose the model of a provider.
	MayChoose func(assistant, provider, model string) bool
	// Owner names whose responses a request may see.
	Owner func(*http.Request) string
	// Admit returns why the client of a WebSocket may not start another turn.
	Admit func(*http.Request) error
	// Secret returns the 32 bytes that seal what clients keep for the host; nil means a random
	// key that ends with the process.
	Secret func(context.Context) ([]byte, error)
	// MaxMessages limits the items of a request, MaxBody its bytes without files.
	MaxMessages int
	MaxBody     int64
	// KeepAlive is how often a silent stream sends a comment.
	KeepAlive time.Duration
}

// A Surface answers the routes of the Responses API.
type Surface struct {
	Config

	mu sync.Mutex
	// live are the responses being rendered, and ended ones that can still be followed, by id.
	live map[string]*live
	// ended are the ended ones, in their order; endedLog is how many bytes they hold.
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
