package httpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"molar/internal/httpguard"
	"molar/mcpservers"
)

const (
	// MaxBody bounds a message or batch, in bytes.
	MaxBody = 4 << 20
	// defaultRate is the default limit of one key, in calls a second.
	defaultRate = 20
	// sessionTTL is how long an unused session of /mcp lives.
	sessionTTL = 30 * time.Minute
	// maxSessions bounds the sessions of one path; beyond it a new one ends the least recently
	// used.
	maxSessions = 1000
)

// Config configures a [Server].
type Config struct {
	// Memory and Tools are the servers; both are required, unless ToolsAlone omits memory.
	Memory, Tools *mcpservers.Dispatcher
	ToolsAlone    bool
	// Guard wraps every route; nil allows everything except requests for a foreign Host on /mcp.
	Guard func(http.Handler) http.Handler
	// Keys are the accepted keys; nil, or a ring that requires none, admits everyone who connects
	// without a proxy.
	Keys *httpguard.Keyring
	// Clients determines a client's address; nil uses the connection's.
	Clients *httpguard.Addresses
	// Rate is how many calls a second one key, or without keys one address, may make, with bursts
	// of five seconds' calls. 0 means [defaultRate] for keys, and no limit without them; a
	// negative number no limit at all. A key with scope host has no limit; without keys the paths
	// of one server, which are for hosts, have 50 times the rate.
	Rate int
	// Logger may be nil.
	Logger  *slog.Logger
	Version string
	// Now is the clock of the limit and the sessions; nil means time.Now.
	Now func() time.Time
}

// Server is the [http.Handler] of the port. It must be closed.
type Server struct {
	servers  map[string]*mcpservers.Dispatcher
	names    []string
	combined *mcpservers.Dispatcher
	version  string
	handler  http.Handler
	mcp      []*endpoint
	watchers *subscriptions
	keys     *httpguard.Keyring
	clients  *httpguard.Addresses
	limit    *httpguard.Limiter
	// hostLimit is for hosts without a key.
	hostLimit *httpguard.Limiter
	rate      int
	onlyKeys  bool // do not count without keys
	log       *slog.Logger
	lastCall  atomic.Int64

	closing context.Context //nolint:containedctx // ends the streams that clients keep open
	close   context.CancelFunc
	work    sync.WaitGroup
}

// New returns the server. The caller listens.
func New(cfg Config) (*Server, error) {
	if cfg.Tools == nil || (cfg.Memory == nil) != cfg.ToolsAlone {
		return nil, errors.New("new MCP port: both a memory server and a tool server are needed, or tools alone")
	}
	servers, names := map[string]*mcpservers.Dispatcher{cfg.Tools.Name(): cfg.Tools}, []string{cfg.Tools.Name()}
	if cfg.Memory != nil {
		if cfg.Memory.Name() == cfg.Tools.Name() {
			return nil, fmt.Errorf("new MCP port: two servers are named %q", cfg.Memory.Name())
		}
		servers[cfg.Memory.Name()], names = cfg.Memory, []string{cfg.Memory.Name(), cfg.Tools.Name()}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{
		servers:  servers,
		names:    names,
		version:  cfg.Version,
		watchers: newSubscriptions(),
		keys:     cfg.Keys,
		clients:  cfg.Clients,
		rate:     cmp.Or(cfg.Rate, defaultRate),
		onlyKeys: cfg.Rate == 0,
		log:      cfg.Logger,
	}
	var err error
	if s.limit, err = newLimiter(s.rate, cfg.Now); err == nil {
		s.hostLimit, err = newLimiter(s.rate*hostFactor, cfg.Now)
	}
	if err != nil {
		return nil, fmt.Errorf("new MCP port: %w", err)
	}
	if s.combined, err = combine(cfg, s.watchers); err != nil {
		return nil, err
	}
	s.closing, s.close = context.WithCancel(context.Background())
	s.handler = s.authenticate(s.routes(cfg))
	if cfg.Guard != nil {
		s.handler = cfg.Guard(s.handler)
	}
	return s, nil
}

// routes builds all routes. The paths below /mcp/ hold one server each, for a host whose memory
// is here: there the custom methods and their codes are as in process.
func (s *Server) routes(cfg Config) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /jsonrpc", s.serveJSONRPC)
	mux.HandleFunc("GET /health", s.serveHealth)
	mux.HandleFunc("GET /servers", s.serveServers)
	mux.HandleFunc("GET /servers/{name}/capabilities", s.serveCapabilities)
	mux.Handle("/mcp", s.endpoint(s.combined, cfg))
	for _, name := range s.names {
		mux.Handle("/mcp/"+name, s.endpoint(s.servers[name], cfg))
	}
	return mux
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends all sessions and open streams, waits for the background work, and closes the
// servers. Requests under way continue, but can no longer search.
func (s *Server) Close() {
	s.close()
	for _, e := range s.mcp {
		_ = e.http.Shutdown(context.Background()) // it owns no listener, so nothing can fail
	}
	s.work.Wait()
	for name, d := range s.servers {
		if err := d.Close(); err != nil {
			s.log.Warn("closing failed", "server", name, "error", err)
		}
	}
}

// answer has a dispatcher answer for the request's owner, and notifies subscribers of changes.
func (s *Server) answer(ctx context.Context, d *mcpservers.Dispatcher, session string, req mcpservers.Request, msg json.RawMessage) json.RawMessage {
	msg, owner, bad := owned(ctx, req, msg)
	if bad != nil {
		if req.ID == nil {
			return nil
		}
		return mcpservers.Fail(req.ID, bad)
	}
	out := d.Handle(ctx, session, msg)
	if id := changedConversation(req, out); id != "" {
		s.watchers.changed(owner, id)
	}
	return out
}

// freshSession returns a session name for a request without a session, so that clients cannot
// cancel each other's.
func (s *Server) freshSession() string { return fmt.Sprintf("call-%d", s.lastCall.Add(1)) }

// readBody reads a whole body. If that fails, it has answered the client.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err == nil {
		return body, true
	}
	status, text := http.StatusBadRequest, "the body broke off"
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		status, text = http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than the limit of %d bytes", MaxBody)
	}
	writeJSON(w, status, mcpservers.Fail(nil, &mcpservers.RPCError{Code: mcpservers.CodeInvalidRequest, Message: "Invalid request: " + text}))
	return nil, false
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) //nolint:gosec // JSON, sent as that; the client may be gone
}
