package mcpclients

import (
	"context"
	"fmt"
	"sync"
	"time"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// A Look is a snapshot of a server's state.
type look struct {
	schemas.ServerStatus
	attempts int  // finished attempts to attach
	wasReady bool // an attempt succeeded
	final    bool // no attempt follows, or none that callers could wait for
	// needsLogin is set while a login must come first.
	needsLogin bool
	changed    chan struct{}
}

// Known reports whether the server's tools and instructions are known.
func (l *look) Known() bool {
	return l.Lost() || l.State == schemas.StateReady || l.State == schemas.StateDegraded
}

// FirstStart reports whether the server was never ready and is being started.
func (l *look) FirstStart() bool { return l.State == schemas.StateStarting && !l.wasReady }

// Lost reports whether the server was ready, is not now, and is being retried.
func (l *look) Lost() bool {
	return l.wasReady && (l.State == schemas.StateStarting || l.State == schemas.StateBackoff)
}

// Failing reports whether the server waits for its next attempt, or for a person.
func (l *look) Failing() bool {
	return l.State == schemas.StateBackoff || l.State == schemas.StateFailed
}

// GaveUp reports whether no attempt follows.
func (l *look) GaveUp() bool { return l.final }

// A serverState is a server's state, with waiting for changes.
type serverState struct {
	mu  sync.Mutex
	now look
}

func (s *serverState) begin(cfg *transport.ServerConfig) {
	s.now = look{changed: make(chan struct{}), ServerStatus: schemas.ServerStatus{
		Name: cfg.Name, Transport: cfg.Transport(), State: schemas.StateStarting, Since: time.Now(),
		Reason: "the server is being started",
	}}
	s.now.final = !cfg.Startable()
	switch {
	case cfg.Disabled:
		s.now.State = schemas.StateDisabled
		s.now.Reason = "disabled in the config: remove mcpServers." + cfg.Name + ".disabled to use it"
	case cfg.Unset != "":
		s.now.State, s.now.Reason = schemas.StateFailed, cfg.Unset
	}
}

// look returns the current state.
func (s *serverState) Look() look {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// update changes the state and wakes the waiters.
func (s *serverState) update(change func(*look)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.now.State
	change(&s.now)
	if s.now.State != before {
		s.now.Since = time.Now()
	}
	close(s.now.changed)
	s.now.changed = make(chan struct{})
}

// WaitWhile returns when is reports false, or with the cause of ctx.
func (s *serverState) WaitWhile(ctx context.Context, is func(*look) bool) error {
	for now := s.Look(); is(&now); now = s.Look() {
		select {
		case <-now.changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for MCP server %q: %w", now.Name, context.Cause(ctx))
		}
	}
	return nil
}

// Settle waits while the server is starting and, with again, for one more attempt of a server in
// backoff.
func (s *serverState) Settle(ctx context.Context, extraPing bool) error {
	first := s.Look()
	return s.WaitWhile(ctx, func(now *look) bool {
		retrying := extraPing && now.State == schemas.StateBackoff && now.attempts == first.attempts && !now.final
		return now.State == schemas.StateStarting || retrying
	})
}

// Wake makes a failing server retry now.
func (s *server) Wake() {
	if now := s.Look(); now.Failing() {
		s.wake()
	}
}

func (s *server) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// errRetired means that a server takes no more calls because its config changed.
var errRetired = fmt.Errorf("%w: its config has changed", transport.ErrUnavailable)

// A door counts the calls under way and admits none once it is closed.
type door struct {
	doorMu  sync.Mutex
	calls   int
	retired bool
	idle    chan struct{} // closed when retired and the last call has ended
}

// enter counts a call, unless the server is retired.
func (d *door) enter() error {
	d.doorMu.Lock()
	defer d.doorMu.Unlock()
	if d.retired {
		return errRetired
	}
	d.calls++
	return nil
}

func (d *door) leave() {
	d.doorMu.Lock()
	defer d.doorMu.Unlock()
	d.calls--
	if d.retired && d.calls == 0 {
		close(d.idle)
	}
}

// busy reports whether calls are under way.
func (d *door) busy() bool {
	d.doorMu.Lock()
	defer d.doorMu.Unlock()
	return d.calls > 0
}

// Retire admits no more calls. The returned channel is closed when those under way have ended.
func (d *door) Retire() <-chan struct{} {
	d.doorMu.Lock()
	defer d.doorMu.Unlock()
	if !d.retired {
		d.retired = true
		if d.calls == 0 {
			close(d.idle)
		}
	}
	return d.idle
}

// Retired reports whether the server takes no more calls.
func (d *door) Retired() bool {
	d.doorMu.Lock()
	defer d.doorMu.Unlock()
	return d.retired
}

// stopReason returns why a server is being stopped.
func (d *door) stopReason() string {
	if d.Retired() {
		return "its config has changed"
	}
	return "the host is shutting down"
}
