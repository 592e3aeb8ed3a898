package responses

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"molar/agent"
	"molar/schemas"
	"molar/web/turns"
	"molar/web/wire"
)

// Conversations reads messages from the store of conversations, to continue a response.
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

// Traces returns the trace of a turn as JSON, and whether the turn is known.
type Traces interface {
	Trace(ctx context.Context, owner, turnID string) (json.RawMessage, bool, error)
}

// Config configures the surface. All fields but Store, Secret, Imports and Files are required.
type Config struct {
	Turns         *turns.Host
	Conversations Conversations
	// Traces returns the trace of a turn, or a trace made from the stored messages of a turn
	// without one.
	Traces Traces
	// Store persists responses; if it is nil, only the most recent ones are kept, in memory.
	Store Store
	// Imports adds items to conversations; nil refuses them.
	Imports Imports
	// Files reads the files of conversations; nil means that no files are stored.
	Files   Files
	Tools   func() []schemas.Tool
	Servers func() []schemas.ServerStatus
	// Searches returns the host's search tools that an assistant uses: those that its model may call,
	// and those that code calls before each answer.
	Searches func(assistant string) (byModel, byCode []schemas.Tool)
	// MayChoose reports whether this client may choose the model of a provider.
	MayChoose func(assistant, provider, model string) bool
	// Owner returns the owner whose responses a request may see.
	Owner func(*http.Request) string
	// Decider returns the client of a request as somebody who decides about calls.
	Decider func(*http.Request) schemas.Decider
	// SetOrigins sets whose words the texts of a request's turn are.
	SetOrigins func(*http.Request, *agent.Turn)
	// Admit returns why the client of a WebSocket may not start another turn.
	Admit func(*http.Request) error
	// Bind returns the request of a WebSocket for one answer, which ends with the client's key.
	Bind func(*http.Request) (bound *http.Request, end context.CancelFunc)
	// Secret returns the key of 32 bytes that seals compactions, which clients keep; nil means a
	// random key that ends with the process.
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
	// ended are the ended ones, in the order of their end; endedLog is the size of their logs in
	// bytes.
	ended    []*live
	endedLog int

	sealing sync.Mutex
	seal    *Sealer

	// schemas checks the schemas in requests.
	schemas wire.SchemaCheck
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
