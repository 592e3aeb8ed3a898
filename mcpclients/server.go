package mcpclients

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"molar/internal/telemetry"
	"molar/mcpclients/oauth"
	"molar/schemas"
)

// A server is one configured server. Its supervisor (see supervise.go) alone
// changes its state; callers read the connection without a lock and the status
// under one.
type server struct {
	name    string
	cfg     atomic.Pointer[ServerConfig] // replaced when only rules and filters change
	settled settings
	dial    Dialer
	log     *slog.Logger
	// publish is called after the tools have changed.
	publish func()
	stop    context.CancelFunc // ends the supervisor; set when it is launched
	ended   chan struct{}      // the supervisor has ended, or there is none

	conn     atomic.Pointer[liveConn]
	kick     chan struct{} // asks for an attempt at once
	list     chan struct{} // the server says that its tools changed
	progress progress
	defs     definitions
	prompts  promptCache
	login    *oauth.Source // nil for a server that nobody can log in to

	shakesHands bool // found out with [ProtocolAuto]; the supervisor's own

	mu       sync.Mutex
	status   schemas.ServerStatus
	infos    []schemas.ToolInfo // as listed, before the filters
	tools    []schemas.Tool
	held     map[string]string // why tools of the last list are withheld
	attempts int               // finished attempts to attach
	final    bool              // no attempt will follow
	changed  chan struct{}     // closed and replaced at every change
	calls    int               // under way
	retired  bool              // takes no more calls
	idle     chan struct{}     // closed when retired and without calls
}

// settings are the manager's settings that every server shares.
type settings struct {
	client       Implementation
	startTimeout time.Duration
	listTimeout  time.Duration
	maxResult    int
	elicit       Elicitor
	decisions    *decisions
	telemetry    *telemetry.Telemetry
	logins       oauth.Store
	oauth        *oauth.Client
	log          *slog.Logger
}

// A liveConn is a connection that is ready for calls.
type liveConn struct{ Conn }

func newServer(cfg ServerConfig, s settings, dial Dialer, log *slog.Logger, publish func()) *server {
	srv := &server{
		name: cfg.Name, settled: s, dial: dial, publish: publish,
		log:  log.With("server", cfg.Name),
		kick: make(chan struct{}, 1), list: make(chan struct{}, 1), changed: make(chan struct{}),
		ended: make(chan struct{}), idle: make(chan struct{}),
		status: schemas.ServerStatus{
			Name: cfg.Name, Transport: cfg.transport(), State: schemas.StateStarting, Since: time.Now(),
			Reason: "the server is being started",
		},
	}
	srv.cfg.Store(&cfg)
	srv.login = s.openLogin(&cfg)
	if cfg.Disabled {
		srv.final = true
		srv.status.State = schemas.StateDisabled
		srv.status.Reason = "disabled in the config: remove mcpServers." + cfg.Name + ".disabled to use it"
	}
	return srv
}

func (s *server) config() *ServerConfig { return s.cfg.Load() }

// update changes the status, and what else change touches, under the lock and wakes those who wait for a change.
func (s *server) update(change func(*schemas.ServerStatus)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.status.State
	change(&s.status)
	if s.status.State != before {
		s.status.Since = time.Now()
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// setTools replaces the tools and publishes them.
func (s *server) setTools(infos []schemas.ToolInfo) {
	// A pinned server's changes are withheld, and its status says so.
	if changed := s.defs.compare(infos); changed != nil && !s.config().Pin {
		s.log.Warn("MCP server changed the definition of its tools", "tools", changed)
	}
	s.mu.Lock()
	s.infos = infos
	s.mu.Unlock()
	s.filterTools()
}

// filterTools applies the filters and rules of the config to the tools that were
// listed.
func (s *server) filterTools() {
	s.mu.Lock()
	cfg := s.config()
	if listed := s.infos; cfg.Pin && len(listed) > 0 {
		s.mu.Unlock() // pins are stored
		s.settled.decisions.trustFirst(s.name, listed, s.log)
		s.mu.Lock()
	}
	tools := make([]schemas.Tool, 0, len(s.infos))
	held := map[string]string{}
	for _, info := range s.infos {
		if cfg.includes(info.ToolName) {
			why, off := s.settled.decisions.withheld(info, cfg.Pin)
			if why != "" {
				held[info.ToolName] = why
			}
			tools = append(tools, schemas.Tool{ToolInfo: info, Rules: cfg.rule(info.ToolName), Withheld: why, Off: off})
		}
	}
	s.tools = tools
	if len(s.infos) > 0 {
		s.held = held
	}
	s.status.Tools = len(tools)
	s.mu.Unlock()
	s.publish()
}

// pending names the tools that await approval.
func (s *server) pending() (names []string, digest string) {
	s.mu.Lock()
	infos := s.infos
	s.mu.Unlock()
	if !s.config().Pin {
		return nil, ""
	}
	return s.settled.decisions.pending(infos)
}

// withheld says why a tool must not be called, or "". While the server is away, what
// it listed last counts.
func (s *server) withheld(tool string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[tool]
}

// look is a snapshot of what a waiting caller needs.
type look struct {
	status   schemas.ServerStatus
	attempts int
	final    bool
	changed  <-chan struct{}
}

func (s *server) look() look {
	s.mu.Lock()
	defer s.mu.Unlock()
	return look{status: s.status, attempts: s.attempts, final: s.final, changed: s.changed}
}

// ready returns the connection. A starting server is waited for; one in backoff or
// failed is asked to try at once, and the outcome of that one attempt is awaited.
func (s *server) ready(ctx context.Context) (Conn, error) {
	asked := -1
	for {
		if live := s.conn.Load(); live != nil {
			return live.Conn, nil
		}
		now := s.look()
		if now.final || (asked >= 0 && now.attempts > asked) {
			return nil, s.unavailable(now.status)
		}
		if asked < 0 {
			asked = now.attempts
			if now.status.State != schemas.StateStarting {
				s.wake()
			}
		}
		if s.conn.Load() != nil {
			continue // it became ready between the two looks
		}
		select {
		case <-now.changed:
		case <-ctx.Done():
			return nil, s.unavailable(now.status, context.Cause(ctx))
		}
	}
}

// readyAfter is ready for a caller whose connection has just ended.
func (s *server) readyAfter(ctx context.Context, old Conn) (Conn, error) {
	for {
		now := s.look()
		live := s.conn.Load()
		if live == nil || live.Conn != old {
			return s.ready(ctx)
		}
		select {
		case <-now.changed:
		case <-ctx.Done():
			return nil, s.unavailable(now.status, context.Cause(ctx))
		}
	}
}

// unavailable explains why there is no connection.
func (s *server) unavailable(st schemas.ServerStatus, causes ...error) error {
	err := fmt.Errorf("%w: %s is %s: %s", ErrUnavailable, s.name, st.State, st.Reason)
	for _, cause := range causes {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// wake ends a wait of the supervisor early.
func (s *server) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// errRetired means that a server takes no more calls since its config changed.
var errRetired = fmt.Errorf("%w: its config has changed", ErrUnavailable)

// enter counts a call, unless the server is retired.
func (s *server) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return errRetired
	}
	s.calls++
	return nil
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	if s.retired && s.calls == 0 {
		close(s.idle)
	}
}

// busy reports whether calls are under way.
func (s *server) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls > 0
}

// retire lets no more calls in. The returned channel is closed when those under way
// have ended.
func (s *server) retire() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.retired {
		s.retired = true
		if s.calls == 0 {
			close(s.idle)
		}
	}
	return s.idle
}

func (s *server) isRetired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retired
}

// stopReason says why a server is being stopped. s.mu is held.
func (s *server) stopReason() string {
	if s.retired {
		return "its config has changed"
	}
	return "the host is shutting down"
}
