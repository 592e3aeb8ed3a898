package mcpclients

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"molar/schemas"
)

// A server is one configured server. Its supervisor (see supervise.go) alone
// changes it; callers read the connection without a lock and the status under one.
type server struct {
	cfg     ServerConfig
	settled settings
	dial    Dialer
	log     *slog.Logger
	// publish is called after the tools have changed.
	publish func()

	conn atomic.Pointer[liveConn]
	kick chan struct{} // asks for an attempt at once
	list chan struct{} // the server says that its tools changed

	mu       sync.Mutex
	status   schemas.ServerStatus
	tools    []schemas.Tool
	attempts int           // finished attempts to attach
	final    bool          // no attempt will follow
	changed  chan struct{} // closed and replaced at every change
}

// settings are the manager's settings that every server shares.
type settings struct {
	client       Implementation
	startTimeout time.Duration
	listTimeout  time.Duration
	maxResult    int
}

// A liveConn is a connection that is ready for calls.
type liveConn struct{ Conn }

func newServer(cfg ServerConfig, s settings, dial Dialer, log *slog.Logger, publish func()) *server {
	srv := &server{
		cfg: cfg, settled: s, dial: dial, publish: publish,
		log:  log.With("server", cfg.Name),
		kick: make(chan struct{}, 1), list: make(chan struct{}, 1), changed: make(chan struct{}),
		status: schemas.ServerStatus{
			Name: cfg.Name, Transport: cfg.transport(), State: schemas.StateStarting, Since: time.Now(),
			Reason: "the server is being started",
		},
	}
	if cfg.Disabled {
		srv.final = true
		srv.status.State = schemas.StateDisabled
		srv.status.Reason = "disabled in the config: remove mcpServers." + cfg.Name + ".disabled to use it"
	}
	return srv
}

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
	tools := make([]schemas.Tool, 0, len(infos))
	for _, info := range infos {
		if s.cfg.includes(info.ToolName) {
			tools = append(tools, schemas.Tool{ToolInfo: info, Rules: s.cfg.rule(info.ToolName)})
		}
	}
	s.mu.Lock()
	s.tools = tools
	s.status.Tools = len(tools)
	s.mu.Unlock()
	s.publish()
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
	err := fmt.Errorf("%w: %s is %s: %s", ErrUnavailable, s.cfg.Name, st.State, st.Reason)
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

// notified is called by the connection with each notification.
func (s *server) notified(method string) {
	if method != methodListChanged {
		return
	}
	select {
	case s.list <- struct{}{}:
	default: // a refresh is due already
	}
}
