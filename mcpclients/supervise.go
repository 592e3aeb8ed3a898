package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"molar/schemas"
)

const (
	backoffFirst = 500 * time.Millisecond
	backoffMax   = time.Minute
	// healthyAfter is how long a server must have been ready for its backoff to
	// start over.
	healthyAfter = time.Minute
	// listDebounce gathers bursts of list_changed into one refresh.
	listDebounce = 200 * time.Millisecond
)

// supervise owns the server until ctx ends: it attaches it, follows its tools and
// attaches it again after a crash.
func (s *server) supervise(ctx context.Context) {
	defer s.end()
	wasReady := false
	failures := 0
	for ctx.Err() == nil {
		conn, err := s.attach(ctx)
		attached := err == nil
		if attached {
			wasReady = true
			ready := time.Now()
			err = s.serve(ctx, conn)
			if time.Since(ready) >= healthyAfter {
				failures = 0
			}
		}
		if ctx.Err() != nil {
			return
		}
		failures++
		wait, retries := s.verdict(err, wasReady, failures)
		s.log.Warn("MCP server is not attached", "error", err, "retries", retries)
		s.update(func(st *schemas.ServerStatus) {
			st.State, st.Reason = schemas.StateFailed, s.explain(err, wait, wasReady)
			if wasReady && retries {
				st.State = schemas.StateBackoff
			}
			s.final = !retries
			if !attached {
				s.attempts++
			}
		})
		if !retries {
			return
		}
		s.rest(ctx, wait)
	}
}

// verdict decides what follows a failure: another attempt after wait (negative:
// only when a caller wants the server), or none.
func (s *server) verdict(err error, wasReady bool, failures int) (wait time.Duration, retries bool) {
	_, isPermanent := errors.AsType[*permanentError](err)
	switch {
	case isPermanent:
		return 0, false
	case wasReady && failures == 1 && errors.Is(err, ErrSession):
		return 0, true
	case wasReady, s.cfg.transport() == TypeHTTP:
		return jittered(failures), true
	default:
		return -1, true
	}
}

// explain is the sentence for a person: what happened and what to do.
func (s *server) explain(err error, wait time.Duration, wasReady bool) string {
	if _, isPermanent := errors.AsType[*permanentError](err); isPermanent {
		return err.Error()
	}
	switch place := "mcpServers." + s.cfg.Name; {
	case wasReady:
		return fmt.Sprintf("%v: trying again in %s", err, wait.Round(100*time.Millisecond))
	case s.cfg.transport() == TypeHTTP:
		return fmt.Sprintf("%v: start the server or correct %s.url, the host keeps trying", err, place)
	default:
		return fmt.Sprintf("%v: repair the server or correct %s", err, place)
	}
}

// jittered is the wait after the given number of failures in a row, up to 20 %
// more or less than the plain doubling.
func jittered(failures int) time.Duration {
	wait := backoffMax
	if failures < 8 {
		wait = min(wait, backoffFirst<<(failures-1))
	}
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // jitter is no secret
}

// rest waits for the next attempt; a caller that wants the server ends it early.
func (s *server) rest(ctx context.Context, wait time.Duration) {
	var due <-chan time.Time
	if wait >= 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-s.kick:
	case <-ctx.Done():
	}
}

// attach dials, shakes hands and lists the tools. Only then is the server ready.
func (s *server) attach(ctx context.Context) (Conn, error) {
	if s.look().status.State == schemas.StateBackoff {
		s.update(func(st *schemas.ServerStatus) {
			st.State, st.Reason = schemas.StateStarting, "the server is being started again"
		})
	}
	started := time.Now()
	startCtx, cancel := context.WithTimeout(ctx, s.settled.startTimeout)
	defer cancel()
	conn, err := s.dial(startCtx, s.cfg, func(method string, _ json.RawMessage) { s.notified(method) })
	if err != nil {
		return nil, err
	}
	info, err := initialize(startCtx, conn, s.cfg.protocol(), s.settled.client)
	if err != nil {
		return nil, s.giveUp(conn, fmt.Sprintf("initialize was not answered within %s", s.settled.startTimeout), err)
	}
	tools, skipped, err := s.listTools(ctx, conn, info)
	if err != nil {
		return nil, s.giveUp(conn, fmt.Sprintf("tools/list was not answered within %s", s.settled.listTimeout), err)
	}
	s.becomeReady(conn, info, tools, skipped, time.Since(started))
	return conn, nil
}

// giveUp closes a connection that could not be made ready and explains why.
func (s *server) giveUp(conn Conn, late string, err error) error {
	_ = conn.Close()
	stderr := stderrOf(conn)
	s.update(func(st *schemas.ServerStatus) { st.Stderr = stderr })
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New(late)
	}
	if n, ok := conn.(interface{ Noise() string }); ok && n.Noise() != "" {
		err = fmt.Errorf("%w; on standard output it wrote %q, which is no message", err, n.Noise())
	}
	if len(stderr) > 0 {
		err = fmt.Errorf("%w; its last words were %q", err, cutText(stderr[len(stderr)-1], 200))
	}
	return err
}

func stderrOf(conn Conn) []string {
	if holder, ok := conn.(stderrHolder); ok {
		return holder.Stderr()
	}
	return nil
}

func (s *server) becomeReady(conn Conn, info serverInfo, tools []schemas.ToolInfo, skipped []string, took time.Duration) {
	s.conn.Store(&liveConn{conn})
	s.setTools(tools)
	s.update(func(st *schemas.ServerStatus) {
		s.attempts++
		st.State, st.Reason, st.Skipped, st.Stderr = schemas.StateReady, "", skipped, nil
		st.Protocol, st.Version = info.Protocol, cutText(visible(info.ServerInfo.Version), 80)
		st.StartMS = took.Milliseconds()
	})
	s.log.Info("MCP server is ready", "tools", len(tools), "skipped", len(skipped), "protocol", info.Protocol, "after", took)
}

// listTools bounds the whole list in time. A server that announces no tools may
// refuse to list them.
func (s *server) listTools(ctx context.Context, conn Conn, info serverInfo) ([]schemas.ToolInfo, []string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.settled.listTimeout)
	defer cancel()
	tools, skipped, err := listTools(ctx, conn, s.cfg.Name)
	if _, refused := errors.AsType[*RPCError](err); refused && info.Capabilities.Tools == nil {
		return nil, nil, nil
	}
	return tools, skipped, err
}

// serve follows a ready server until it is lost or ctx ends, and closes it.
func (s *server) serve(ctx context.Context, conn Conn) error {
	var due <-chan time.Time
	for {
		select {
		case <-s.list:
			if due == nil {
				due = time.After(listDebounce)
			}
		case <-due:
			due = nil
			s.refresh(ctx, conn)
		case <-conn.Done():
			return s.lost(conn)
		case <-ctx.Done():
			s.conn.Store(nil)
			s.update(func(st *schemas.ServerStatus) {
				st.State, st.Reason = schemas.StateStopping, "the host is shutting down"
			})
			_ = conn.Close()
			return ctx.Err()
		}
	}
}

// lost withdraws the tools of a server that went away.
func (s *server) lost(conn Conn) error {
	s.conn.Store(nil)
	s.setTools(nil)
	err := conn.Err()
	s.update(func(st *schemas.ServerStatus) {
		st.State, st.Reason = schemas.StateBackoff, err.Error()
	})
	_ = conn.Close()
	stderr := stderrOf(conn)
	s.update(func(st *schemas.ServerStatus) { st.Stderr = stderr })
	return err
}

// refresh reads the list again; a refresh that fails keeps the old one.
func (s *server) refresh(ctx context.Context, conn Conn) {
	tools, skipped, err := s.listTools(ctx, conn, serverInfo{Capabilities: capabilities{Tools: &struct{}{}}})
	if err != nil {
		reason := fmt.Sprintf("reading the changed tool list went wrong, the old one is kept: %v", err)
		s.log.Warn("MCP server is degraded", "reason", reason)
		s.update(func(st *schemas.ServerStatus) { st.State, st.Reason = schemas.StateDegraded, reason })
		return
	}
	s.setTools(tools)
	s.update(func(st *schemas.ServerStatus) { st.State, st.Reason, st.Skipped = schemas.StateReady, "", skipped })
}

// end leaves a server that is no longer supervised in a state that says so.
func (s *server) end() {
	s.mu.Lock()
	s.final = true
	s.tools, s.status.Tools = nil, 0
	s.mu.Unlock()
	s.publish()
	s.update(func(st *schemas.ServerStatus) {
		if st.State != schemas.StateFailed {
			st.State, st.Reason = schemas.StateStopping, "the host is shutting down"
		}
	})
}
