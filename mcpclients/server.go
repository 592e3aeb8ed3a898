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

// A Server is one configured server. Its supervisor ([server.Run]) alone changes its
// state; callers read the connection without a lock.
type server struct {
	serverState
	door
	settings settings
	cfg      atomic.Pointer[transport.ServerConfig] // replaced if only rules and filters change
	shelf    *Shelf
	dial     transport.Dialer
	log      *slog.Logger

	conn     atomic.Pointer[liveConn]
	kick     chan struct{} // triggers an attempt
	list     chan struct{} // signals that the tools changed
	progress progress
	askers   askers
	lines    quota
	prompts  promptCache
	login    *oauth.Source // nil if the server takes no login
	seats    *seats        // nil unless each person has their own connection

	// Only the supervisor uses these: which revision the server is known to speak, nil if that was
	// not looked up yet, and what a person should learn even though the server is back.
	spoken  *schemas.ServerProtocol
	warning string
}

// settings are what all servers of a manager share.
type settings struct {
	// Client is how the host introduces itself.
	Client transport.Implementation
	// HTTP is shared by all servers over HTTP.
	HTTP *http.Client
	// StartTimeout covers start and initialize, ListTimeout the whole tool list; MaxResult bounds
	// a result's text, in bytes.
	StartTimeout, ListTimeout time.Duration
	MaxResult                 int
	// Elicit may be nil.
	Elicit    Elicitor
	Decisions *InForce
	Telemetry *telemetry.Telemetry
	// Logins and OAuth are nil if logins are disabled.
	Logins oauth.Store
	OAuth  *oauth.Client
	People People
	// Protocols may be nil.
	Protocols Protocols
	// OnePerson is set for a connection of one person, who is asked to log in.
	OnePerson bool
	// Once is set if no reason should promise a retry.
	Once bool
	Log  *slog.Logger
	// Wrap, when set, is put around the dialer of each server.
	Wrap func(transport.Dialer) transport.Dialer
	// Publish is called after the tools of a server have changed.
	Publish func()
}

// A liveConn is a connection that is ready for calls.
type liveConn struct{ transport.Conn }

// newServer returns a server that is not started yet.
func newServer(cfg transport.ServerConfig, settings settings) *server {
	s := &server{
		settings: settings, log: settings.Log.With("server", cfg.Name),
		kick: make(chan struct{}, 1), list: make(chan struct{}, 1), door: door{idle: make(chan struct{})},
	}
	s.cfg.Store(&cfg)
	s.shelf = newShelf(ShelfConfig{
		Server: cfg.Name, Config: s.Config, Decisions: settings.Decisions, Log: s.log, Publish: settings.Publish,
	})
	if cfg.AsPerson {
		s.seats = &seats{base: s, connect: newConnect(cfg.Name), taken: map[string]*seat{}}
	} else {
		s.login = settings.openLogin(&cfg)
	}
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

// openLogin returns the token source of a server that takes a login: one over HTTP whose config
// has no credentials. Otherwise it returns nil.
func (s *settings) openLogin(cfg *transport.ServerConfig) *oauth.Source {
	kind := cfg.Transport()
	if s.Logins == nil || cfg.Needed() || kind != transport.TypeHTTP && kind != transport.TypeSSE || cfg.HasAuthorization() {
		return nil
	}
	return oauth.NewSource(cfg.LoginServer(), s.Logins, s.OAuth, s.Log)
}

// Name is the server's name in the config.
func (s *server) Name() string { return s.Config().Name }

// Config returns the current config.
func (s *server) Config() *transport.ServerConfig { return s.cfg.Load() }

// shelf holds the server's tools.
func (s *server) Shelf() *Shelf { return s.shelf }

// Judge replaces the config by one that reaches the server in the same way.
func (s *server) Judge(cfg *transport.ServerConfig) {
	s.cfg.Store(cfg)
	s.shelf.Judge()
}

// applyDecisions applies what people have decided since to the tools, over whichever connection.
func (s *server) applyDecisions() {
	if s.seats != nil {
		s.seats.applyDecisions()
	}
	s.shelf.Judge()
}

// startTimeout covers start and initialize.
func (s *server) startTimeout() time.Duration {
	return cmp.Or(s.Config().StartTimeout, s.settings.StartTimeout)
}

// Status describes the server. Skipped also names the tools whose definition changed since they
// were first listed.
func (s *server) Status() schemas.ServerStatus {
	st := s.Look().ServerStatus
	st.Tools = s.shelf.Count()
	st.Changes, st.Digest = s.shelf.Pending()
	st.Unconfirmed, st.ListDigest = s.shelf.Unseen()
	for _, c := range st.Changes {
		st.Pending = append(st.Pending, c.Tool)
	}
	st.Skipped, st.Stderr = slices.Concat(st.Skipped, s.shelf.Notes()), slices.Clone(st.Stderr)
	if live := s.conn.Load(); live != nil {
		st.Stderr = stderrOf(live.Conn)
	}
	return st
}

// ready returns the connection. It waits for a starting server; one in backoff or failed retries
// at once, and ready waits for that one attempt.
func (s *server) ready(ctx context.Context) (transport.Conn, error) {
	attemptsBefore := -1
	for {
		now := s.Look() // before the connection: one that comes after this look changes the state
		if live := s.conn.Load(); live != nil {
			return live.Conn, nil
		}
		if now.final || (attemptsBefore >= 0 && now.attempts > attemptsBefore) {
			return nil, unavailable(now)
		}
		if attemptsBefore < 0 {
			attemptsBefore = now.attempts
			if now.State != schemas.StateStarting {
				s.wake()
			}
		}
		select {
		case <-now.changed:
		case <-ctx.Done():
			return nil, unavailable(now, context.Cause(ctx))
		}
	}
}

// readyAfter is ready for a caller whose connection has ended.
func (s *server) readyAfter(ctx context.Context, old transport.Conn) (transport.Conn, error) {
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
func unavailable(now look, causes ...error) error {
	err := fmt.Errorf("%w: %s %s: %s", transport.ErrUnavailable, now.Name, now.State.Predicate(), now.Reason)
	for _, cause := range causes {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
