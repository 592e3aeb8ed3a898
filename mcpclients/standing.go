package mcpclients

import (
	"context"
	"fmt"
	"sync"
	"time"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// A Look is where a server stood at one moment.
type Look struct {
	schemas.ServerStatus
	attempts int  // finished attempts to attach
	wasReady bool // one of them succeeded
	final    bool // no attempt will follow, or none that callers could wait for
	changed  chan struct{}

	instructions string
}

// Instructions is what the server said of how its tools are used, bounded and visible; ""
// when it said nothing or its tools are not known.
func (l *Look) Instructions() string {
	if l.Lost() || l.State == schemas.StateReady || l.State == schemas.StateDegraded {
		return l.instructions
	}
	return ""
}

// FirstStart reports whether the server was never ready and is being started.
func (l *Look) FirstStart() bool { return l.State == schemas.StateStarting && !l.wasReady }

// Lost reports whether the server was ready, is not, and is tried again.
func (l *Look) Lost() bool {
	return l.wasReady && (l.State == schemas.StateStarting || l.State == schemas.StateBackoff)
}

// Failing reports whether the server waits for its next attempt, or for a person.
func (l *Look) Failing() bool {
	return l.State == schemas.StateBackoff || l.State == schemas.StateFailed
}

// GaveUp reports whether no attempt will follow.
func (l *Look) GaveUp() bool { return l.final }

// A standing is where a server stands, and who waits for a change of it.
type standing struct {
	mu  sync.Mutex
	now Look
}

func (s *standing) begin(cfg *transport.ServerConfig) {
	s.now = Look{changed: make(chan struct{}), ServerStatus: schemas.ServerStatus{
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

// Look returns where the server stands now.
func (s *standing) Look() Look {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// update changes where the server stands and wakes those who wait for it.
func (s *standing) update(change func(*Look)) {
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

// WaitWhile returns when is no longer holds, or with the cause of ctx.
func (s *standing) WaitWhile(ctx context.Context, is func(*Look) bool) error {
	for now := s.Look(); is(&now); now = s.Look() {
		select {
		case <-now.changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for MCP server %q: %w", now.Name, context.Cause(ctx))
		}
	}
	return nil
}

// Settle waits while the server is starting, and with again set for one more attempt of
// a server in backoff.
func (s *standing) Settle(ctx context.Context, again bool) error {
	first := s.Look()
	return s.WaitWhile(ctx, func(now *Look) bool {
		retrying := again && now.State == schemas.StateBackoff && now.attempts == first.attempts && !now.final
		return now.State == schemas.StateStarting || retrying
	})
}

// Wake ends the wait for the next attempt of a server that fails.
func (s *Server) Wake() {
	if now := s.Look(); now.Failing() {
		s.wake()
	}
}

func (s *Server) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// errRetired means that a server takes no more calls since its config changed.
var errRetired = fmt.Errorf("%w: its config has changed", transport.ErrUnavailable)

// A door counts the calls under way and lets no more in once it is shut.
type door struct {
	doorMu  sync.Mutex
	calls   int
	retired bool
	idle    chan struct{} // closed when retired and without calls
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

// Retire lets no more calls in. The returned channel is closed when those under way have
// ended.
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

// stopReason is why a server is being stopped.
func (d *door) stopReason() string {
	if d.Retired() {
		return "its config has changed"
	}
	return "the host is shutting down"
}
