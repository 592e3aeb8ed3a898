package mcpclients

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"molar/internal/telemetry"
	"molar/mcpclients/oauth"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// A Server is one configured server. Its supervisor ([Server.Run]) alone changes its
// state; callers read the connection without a lock.
type Server struct {
	standing
	door
	settings Settings
	cfg      atomic.Pointer[transport.ServerConfig] // replaced when only rules and filters change
	shelf    *Shelf
	dial     transport.Dialer
	log      *slog.Logger

	conn     atomic.Pointer[liveConn]
	kick     chan struct{} // asks for an attempt at once
	list     chan struct{} // the server says that its tools changed
	progress progress
	askers   askers
	lines    quota
	prompts  promptCache
	login    *oauth.Source // nil for a server that nobody can log in to

	// The supervisor's own: whether the server shakes hands, as was found out with
	// [transport.ProtocolAuto], and what it did that a person should see though it is back.
	shakesHands bool
	warning     string
}

// Settings are what all servers of a manager share.
type Settings struct {
	// Client is how the host introduces itself.
	Client transport.Implementation
	// HTTP is shared by all servers over HTTP.
	HTTP *http.Client
	// StartTimeout covers start and initialize, ListTimeout the whole tool list; MaxResult
	// is how many bytes of a result's text are kept.
	StartTimeout, ListTimeout time.Duration
	MaxResult                 int
	// Elicit may be nil.
	Elicit    Elicitor
	Decisions *InForce
	Telemetry *telemetry.Telemetry
	// Logins and OAuth are nil when nobody can log in.
	Logins oauth.Store
	OAuth  *oauth.Client
	Log    *slog.Logger
	// Wrap, when set, is put around the dialer of each server.
	Wrap func(transport.Dialer) transport.Dialer
	// Publish is called after the tools of a server have changed.
	Publish func()
}

// A liveConn is a connection that is ready for calls.
type liveConn struct{ transport.Conn }

// NewServer returns a server that is not started yet.
func NewServer(cfg transport.ServerConfig, settings Settings) *Server {
	s := &Server{
		settings: settings, log: settings.Log.With("server", cfg.Name),
		kick: make(chan struct{}, 1), list: make(chan struct{}, 1), door: door{idle: make(chan struct{})},
	}
	s.cfg.Store(&cfg)
	s.shelf = NewShelf(ShelfConfig{
		Server: cfg.Name, Config: s.Config, Decisions: settings.Decisions, Log: s.log, Publish: settings.Publish,
	})
	s.login = settings.openLogin(&cfg)
	s.dial = transport.Dial(settings.HTTP, transport.Host{Answer: s.answer, Login: s.login})
	if settings.Wrap != nil {
		s.dial = settings.Wrap(s.dial)
	}
	s.begin(&cfg)
	if cfg.Unset != "" {
		s.log.Warn("MCP server is not attached", "error", cfg.Unset)
	}
	return s
}

// openLogin returns the tokens of a server that can be logged in to: one over HTTP whose
// config names no credentials. nil means that it is no such server.
func (s *Settings) openLogin(cfg *transport.ServerConfig) *oauth.Source {
	kind := cfg.Transport()
	if s.Logins == nil || cfg.Needed() || kind != transport.TypeHTTP && kind != transport.TypeSSE || cfg.HasAuthorization() {
		return nil
	}
	return oauth.NewSource(cfg.LoginServer(), s.Logins, s.OAuth, s.Log)
}

// Name is the server's name in the config.
func (s *Server) Name() string { return s.Config().Name }

// Config returns the config as it is now.
func (s *Server) Config() *transport.ServerConfig { return s.cfg.Load() }

// Shelf holds the server's tools.
func (s *Server) Shelf() *Shelf { return s.shelf }

// Judge replaces a config that reaches the server in the same way.
func (s *Server) Judge(cfg *transport.ServerConfig) {
	s.cfg.Store(cfg)
	s.shelf.Judge()
}

// startTimeout covers start and initialize.
func (s *Server) startTimeout() time.Duration {
	return cmp.Or(s.Config().StartTimeout, s.settings.StartTimeout)
}

// Status describes the server. Beside what was left out, Skipped names the tools whose
// definition changed since they were first listed.
func (s *Server) Status() schemas.ServerStatus {
	st := s.Look().ServerStatus
	st.Tools = s.shelf.Count()
	st.Changes, st.Digest = s.shelf.Pending()
	for _, c := range st.Changes {
		st.Pending = append(st.Pending, c.Tool)
	}
	st.Skipped, st.Stderr = slices.Concat(st.Skipped, s.shelf.Notes()), slices.Clone(st.Stderr)
	if live := s.conn.Load(); live != nil {
		st.Stderr = stderrOf(live.Conn)
	}
	return st
}

// ready returns the connection. A starting server is waited for; one in backoff or
// failed is asked to try at once, and the outcome of that one attempt is awaited.
func (s *Server) ready(ctx context.Context) (transport.Conn, error) {
	asked := -1
	for {
		if live := s.conn.Load(); live != nil {
			return live.Conn, nil
		}
		now := s.Look()
		if now.final || (asked >= 0 && now.attempts > asked) {
			return nil, unavailable(now)
		}
		if asked < 0 {
			asked = now.attempts
			if now.State != schemas.StateStarting {
				s.wake()
			}
		}
		if s.conn.Load() != nil {
			continue // it became ready between the two looks
		}
		select {
		case <-now.changed:
		case <-ctx.Done():
			return nil, unavailable(now, context.Cause(ctx))
		}
	}
}

// readyAfter is ready for a caller whose connection has just ended.
func (s *Server) readyAfter(ctx context.Context, old transport.Conn) (transport.Conn, error) {
	for {
		now := s.Look()
		live := s.conn.Load()
		if live == nil || live.Conn != old {
			return s.ready(ctx)
		}
		select {
		case <-now.changed:
		case <-ctx.Done():
			return nil, unavailable(now, context.Cause(ctx))
		}
	}
}

// unavailable explains why there is no connection.
func unavailable(now Look, causes ...error) error {
	err := fmt.Errorf("%w: %s is %s: %s", transport.ErrUnavailable, now.Name, now.State, now.Reason)
	for _, cause := range causes {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
