package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"molar/schemas"
)

// attach dials, shakes hands and lists the tools. Only then is the server ready.
func (s *server) attach(ctx context.Context) (Conn, serverInfo, error) {
	if s.look().status.State == schemas.StateBackoff {
		s.update(func(st *schemas.ServerStatus) {
			st.State, st.Reason = schemas.StateStarting, "the server is being started again"
		})
	}
	started := time.Now()
	conn, info, err := s.open(ctx)
	if err != nil {
		return nil, serverInfo{}, err
	}
	tools, skipped, err := s.listTools(ctx, conn, info)
	if err != nil {
		return nil, serverInfo{}, s.giveUp(conn, fmt.Sprintf("tools/list was not answered within %s", s.settled.listTimeout), err)
	}
	s.becomeReady(conn, info, tools, skipped, time.Since(started))
	return conn, info, nil
}

// open connects in the way that the config asks for, or that the server turns out
// to understand.
func (s *server) open(ctx context.Context) (Conn, serverInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, s.settled.startTimeout)
	defer cancel()
	cfg := *s.config()
	kind := cfg.transport()
	if cfg.Protocol == ProtocolAuto && kind == TypeHTTP && !s.shakesHands {
		asked := cfg
		asked.Protocol = ProtocolStateless
		probe, stop := context.WithTimeout(ctx, discoverTimeout)
		conn, info, err := s.openAs(probe, asked)
		stop()
		if err == nil || ctx.Err() != nil || (!errors.Is(err, errNotStateless) && !errors.Is(err, context.DeadlineExceeded)) {
			return conn, info, err
		}
	}
	conn, info, err := s.openAs(ctx, cfg)
	s.shakesHands = err == nil // the next time it need not be asked
	if legacy, ok := errors.AsType[*legacyError](err); ok && kind == TypeHTTP {
		older := cfg
		older.Type = TypeSSE
		if conn, info, sseErr := s.openAs(ctx, older); sseErr == nil {
			s.log.Info("MCP server speaks the older HTTP and SSE transport", "refusal", legacy.status)
			return conn, info, nil
		}
	}
	return conn, info, err
}

// openAs dials and shakes hands as cfg says.
func (s *server) openAs(ctx context.Context, cfg ServerConfig) (Conn, serverInfo, error) {
	cfg.answer, cfg.login = s.settled.elicit.answers(s.name), s.login
	conn, err := s.dial(ctx, cfg, s.notified)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no connection within %s: %w", s.settled.startTimeout, err)
		}
		return nil, serverInfo{}, err
	}
	if cfg.Protocol == ProtocolStateless {
		return s.greetStateless(ctx, conn)
	}
	info, err := initialize(ctx, conn, cfg.handshake(), &s.settled)
	refused, isRefusal := errors.AsType[*RPCError](err)
	if isRefusal && cfg.Protocol == ProtocolAuto {
		// A refused handshake does no harm, so it comes first: an older server may end
		// when its first message is anything else.
		if asked, info, err := s.greetStateless(ctx, conn); err == nil || !errors.Is(err, errNotStateless) {
			return asked, info, err
		}
		return nil, serverInfo{}, refusedHandshake(refused)
	}
	switch {
	case err == nil:
	case cfg.transport() == TypeMessage && answered(err):
		info = serverInfo{Capabilities: capabilities{Tools: &toolsCapability{}}} // such servers need no handshake
	case isRefusal:
		return nil, serverInfo{}, s.giveUp(conn, "", refusedHandshake(refused))
	default:
		return nil, serverInfo{}, s.giveUp(conn, fmt.Sprintf("initialize was not answered within %s", s.settled.startTimeout), err)
	}
	info.transport = cfg.transport()
	return conn, info, nil
}

// answered reports whether err is an answer of the server's.
func answered(err error) bool {
	_, refused := errors.AsType[*RPCError](err)
	_, status := errors.AsType[*statusError](err)
	return refused || (status && !errors.Is(err, ErrLost))
}

func refusedHandshake(refused *RPCError) error {
	return permanent("initialize was refused with error %d: %s", refused.Code, refused.Message)
}

// greetStateless asks a server without a handshake what it is.
func (s *server) greetStateless(ctx context.Context, conn Conn) (Conn, serverInfo, error) {
	wrapped, err := newStateless(conn, &s.settled)
	if err != nil {
		return nil, serverInfo{}, s.giveUp(conn, "", err)
	}
	info, err := discover(ctx, wrapped)
	if err != nil {
		late := fmt.Sprintf("%s was not answered within %s", methodDiscover, s.settled.startTimeout)
		if s.config().Protocol == ProtocolStateless && errors.Is(err, errNotStateless) {
			err = permanent("%w: correct or remove mcpServers.%s.protocol", err, s.name)
		}
		return nil, serverInfo{}, s.giveUp(conn, late, err)
	}
	info.transport = s.config().transport()
	return &inputs{Conn: wrapped, answer: s.settled.elicit.answers(s.name)}, info, nil
}

// giveUp closes a connection that could not be made ready and explains why. late is
// what to say when time ran out.
func (s *server) giveUp(conn Conn, late string, err error) error {
	_ = conn.Close()
	stderr := stderrOf(conn)
	s.update(func(st *schemas.ServerStatus) { st.Stderr = stderr })
	if errors.Is(err, context.DeadlineExceeded) {
		err = &lateError{late}
	}
	if n, ok := innermost(conn).(interface{ Noise() string }); ok && n.Noise() != "" {
		err = fmt.Errorf("%w; on standard output it wrote %q, which is no message", err, n.Noise())
	}
	if len(stderr) > 0 {
		err = fmt.Errorf("%w; its last words were %q", err, cutText(stderr[len(stderr)-1], 200))
	}
	return err
}

// A lateError says what was not answered in time.
type lateError struct{ text string }

func (e *lateError) Error() string { return e.text }
func (e *lateError) Unwrap() error { return context.DeadlineExceeded }

func stderrOf(conn Conn) []string {
	if holder, ok := innermost(conn).(stderrHolder); ok {
		return holder.Stderr()
	}
	return nil
}

func (s *server) becomeReady(conn Conn, info serverInfo, tools []schemas.ToolInfo, skipped []string, took time.Duration) {
	s.setTools(tools)
	s.prompts.attached(info)
	s.conn.Store(&liveConn{conn})
	if s.look().status.Protocol != "" { // it was ready before
		s.settled.telemetry.CountReconnect(s.name)
	}
	s.update(func(st *schemas.ServerStatus) {
		s.attempts++
		st.State, st.Reason, st.Skipped, st.Stderr = schemas.StateReady, "", skipped, nil
		st.Protocol, st.Version = info.Protocol, cutText(visible(info.ServerInfo.Version), 80)
		st.Transport, st.StartMS = info.transport, took.Milliseconds()
	})
	s.log.Info("MCP server is ready", "tools", len(tools), "skipped", len(skipped), "protocol", info.Protocol,
		"transport", info.transport, "after", took)
}

// listTools bounds the whole list in time. A server that announces no tools may
// refuse to list them.
func (s *server) listTools(ctx context.Context, conn Conn, info serverInfo) ([]schemas.ToolInfo, []string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.settled.listTimeout)
	defer cancel()
	tools, skipped, err := listTools(ctx, conn, s.name)
	if _, refused := errors.AsType[*RPCError](err); refused && info.Capabilities.Tools == nil {
		return nil, nil, nil
	}
	if mirror, ok := innermost(conn).(headerMirror); ok && err == nil {
		var unfit []string
		tools, unfit = mirror.MirrorTools(tools)
		skipped = append(skipped, unfit...)
	}
	return tools, skipped, err
}

// notified is called by the connection with each notification.
func (s *server) notified(method string, params json.RawMessage) {
	switch method {
	case methodProgress:
		s.progress.notified(params)
	case methodPromptsChanged:
		s.prompts.changed()
	case methodListChanged:
		select {
		case s.list <- struct{}{}:
		default: // a refresh is due already
		}
	}
}
