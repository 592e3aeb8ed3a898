package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"molar/internal/text"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// maxInstructions is how many bytes are kept of what a server says of its use.
const maxInstructions = 1 << 10

// attach dials, shakes hands and lists the tools. Only then is the server ready.
func (s *Server) attach(ctx context.Context) (transport.Conn, serverInfo, error) {
	if s.Look().State == schemas.StateBackoff {
		s.update(func(now *Look) {
			now.State, now.Reason = schemas.StateStarting, "the server is being started again"
		})
	}
	started := time.Now()
	conn, info, err := s.open(ctx)
	if err != nil {
		return nil, serverInfo{}, err
	}
	tools, skipped, err := s.listTools(ctx, conn, info)
	if err != nil {
		return nil, serverInfo{}, s.giveUp(conn, fmt.Sprintf("tools/list was not answered within %s", s.settings.ListTimeout), err)
	}
	s.becomeReady(conn, info, tools, skipped, time.Since(started))
	return conn, info, nil
}

// open connects in the way that the config asks for, or that the server turns out
// to understand.
func (s *Server) open(ctx context.Context) (transport.Conn, serverInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, s.startTimeout())
	defer cancel()
	cfg := *s.Config()
	kind := cfg.Transport()
	if cfg.Protocol == transport.ProtocolAuto && kind == transport.TypeHTTP && !s.shakesHands {
		asked := cfg
		asked.Protocol = transport.ProtocolStateless
		probe, stop := context.WithTimeout(ctx, discoverTimeout)
		conn, info, err := s.openAs(probe, asked)
		stop()
		if err == nil || ctx.Err() != nil || (!errors.Is(err, errNotStateless) && !errors.Is(err, context.DeadlineExceeded)) {
			return conn, info, err
		}
	}
	conn, info, err := s.openAs(ctx, cfg)
	s.shakesHands = err == nil // the next time it need not be asked
	if legacy, ok := errors.AsType[*transport.LegacyError](err); ok && kind == transport.TypeHTTP {
		older := cfg
		older.Type = transport.TypeSSE
		if conn, info, sseErr := s.openAs(ctx, older); sseErr == nil {
			s.log.Info("MCP server speaks the older HTTP and SSE transport", "refusal", legacy.Status)
			return conn, info, nil
		}
	}
	return conn, info, err
}

// openAs dials and shakes hands as cfg says.
func (s *Server) openAs(ctx context.Context, cfg transport.ServerConfig) (transport.Conn, serverInfo, error) {
	conn, err := s.dial(ctx, cfg, s.notified)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no connection within %s: raise mcpServers.%s.start_timeout if it needs longer: %w", s.startTimeout(), s.Name(), err)
		}
		return nil, serverInfo{}, err
	}
	if cfg.Protocol == transport.ProtocolStateless {
		return s.greetStateless(ctx, conn)
	}
	info, err := initialize(ctx, conn, cfg.Handshake(), &s.settings)
	refused, isRefusal := errors.AsType[*transport.RPCError](err)
	if isRefusal && cfg.Protocol == transport.ProtocolAuto {
		// A refused handshake does no harm, so it comes first: an older server may end
		// when its first message is anything else.
		if asked, info, err := s.greetStateless(ctx, conn); err == nil || !errors.Is(err, errNotStateless) {
			return asked, info, err
		}
		return nil, serverInfo{}, refusedHandshake(refused)
	}
	switch {
	case err == nil:
	case cfg.Transport() == transport.TypeMessage && transport.Answered(err):
		info = serverInfo{Capabilities: capabilities{Tools: &toolsCapability{}}} // such servers need no handshake
	case isRefusal:
		return nil, serverInfo{}, s.giveUp(conn, "", refusedHandshake(refused))
	default:
		return nil, serverInfo{}, s.giveUp(conn, s.tooLate(transport.MethodInitialize), err)
	}
	info.transport = cfg.Transport()
	return conn, info, nil
}

// refusedHandshake is final for a server that names other revisions; any other may be
// one that is not well yet.
func refusedHandshake(refused *transport.RPCError) error {
	if versions := offered(refused); len(versions) > 0 {
		return transport.Permanent("initialize was refused with error %d: %s: it speaks %s",
			refused.Code, refused.Message, strings.Join(versions, ", "))
	}
	return fmt.Errorf("initialize was refused with error %d: %s", refused.Code, refused.Message)
}

// tooLate says that the server did not answer method in time.
func (s *Server) tooLate(method string) string {
	return fmt.Sprintf("%s was not answered within %s: raise %s.start_timeout if it needs longer", method, s.startTimeout(), s.Config().Place())
}

// greetStateless asks a server without a handshake what it is.
func (s *Server) greetStateless(ctx context.Context, conn transport.Conn) (transport.Conn, serverInfo, error) {
	wrapped, err := newStateless(conn, &s.settings)
	if err != nil {
		return nil, serverInfo{}, s.giveUp(conn, "", err)
	}
	info, err := discover(ctx, wrapped)
	if err != nil {
		if s.Config().Protocol == transport.ProtocolStateless && errors.Is(err, errNotStateless) && !unwell(err) {
			err = transport.Permanent("%w: correct or remove mcpServers.%s.protocol", err, s.Name())
		}
		return nil, serverInfo{}, s.giveUp(conn, s.tooLate(transport.MethodDiscover), err)
	}
	info.transport = s.Config().Transport()
	return &inputs{Conn: wrapped, answer: s.answer}, info, nil
}

// giveUp closes a connection that could not be made ready and explains why. late is
// what to say when time ran out.
func (s *Server) giveUp(conn transport.Conn, late string, err error) error {
	_ = conn.Close()
	stderr := stderrOf(conn)
	s.update(func(now *Look) { now.Stderr = stderr })
	if errors.Is(err, context.DeadlineExceeded) {
		err = &lateError{late}
	}
	if n, ok := transport.Innermost(conn).(interface{ Noise() string }); ok && n.Noise() != "" {
		err = fmt.Errorf("%w; on standard output it wrote %q, which is no message", err, n.Noise())
	}
	if len(stderr) > 0 {
		err = fmt.Errorf("%w; its last words were %q", err, text.Text(stderr[len(stderr)-1], 200))
	}
	return err
}

// A lateError names what was not answered in time.
type lateError struct{ text string }

func (e *lateError) Error() string { return e.text }
func (e *lateError) Unwrap() error { return context.DeadlineExceeded }

// A stderrHolder is a connection that kept what its server wrote to standard error.
type stderrHolder interface {
	Stderr() []string
}

// A headerMirror is a connection that must know the tools, since it repeats some of their
// arguments outside the message. It returns the tools that it can call, and why not the
// others.
type headerMirror interface {
	MirrorTools(tools []schemas.ToolInfo) (kept []schemas.ToolInfo, skipped []string)
}

func stderrOf(conn transport.Conn) []string {
	if holder, ok := transport.Innermost(conn).(stderrHolder); ok {
		return holder.Stderr()
	}
	return nil
}

// unwell reports whether a refusal may be the word of a gateway, or of a server that is
// still starting.
func unwell(err error) bool {
	_, status := errors.AsType[*transport.StatusError](err)
	return status || refusalCode(err) == transport.CodeInternal
}

func (s *Server) becomeReady(conn transport.Conn, info serverInfo, tools []schemas.ToolInfo, skipped []string, took time.Duration) {
	s.shelf.Put(tools)
	s.prompts.attached(info)
	s.conn.Store(&liveConn{conn})
	if s.Look().Protocol != "" { // it was ready before
		s.settings.Telemetry.CountReconnect(s.Name())
	}
	s.update(func(now *Look) {
		now.attempts++
		now.wasReady = true
		now.instructions = text.Text(strings.TrimSpace(text.Visible(strings.ToValidUTF8(info.Instructions, "?"))), maxInstructions)
		now.State, now.Reason, now.Skipped, now.Stderr = schemas.StateReady, "", skipped, nil
		if s.warning != "" {
			now.State, now.Reason = schemas.StateDegraded, s.warning
		}
		now.Protocol, now.Version = info.Protocol, text.Text(text.Visible(info.ServerInfo.Version), 80)
		now.Transport, now.StartMS = info.transport, took.Milliseconds()
	})
	s.log.Info("MCP server is ready", "tools", len(tools), "skipped", len(skipped), "protocol", info.Protocol,
		"transport", info.transport, "after", took)
}

// listTools bounds the whole list in time. A server that announces no tools may
// refuse to list them.
func (s *Server) listTools(ctx context.Context, conn transport.Conn, info serverInfo) ([]schemas.ToolInfo, []string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.ListTimeout)
	defer cancel()
	tools, skipped, err := List(ctx, conn, s.Name())
	if _, refused := errors.AsType[*transport.RPCError](err); refused && info.Capabilities.Tools == nil {
		return nil, nil, nil
	}
	if mirror, ok := transport.Innermost(conn).(headerMirror); ok && err == nil {
		var unfit []string
		tools, unfit = mirror.MirrorTools(tools)
		skipped = append(skipped, unfit...)
	}
	return tools, skipped, err
}

// notified is called by the connection with each notification.
func (s *Server) notified(method string, params json.RawMessage) {
	switch method {
	case transport.MethodProgress:
		s.progress.notified(params)
	case methodLogged:
		s.logged(params)
	case methodPromptsChanged:
		s.prompts.changed()
	case transport.MethodListChanged:
		select {
		case s.list <- struct{}{}:
		default: // a refresh is due already
		}
	}
}
