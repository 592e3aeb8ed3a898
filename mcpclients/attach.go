package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"molar/internal/text"
	"molar/mcpclients/lastwords"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// maxInstructions bounds a server's instructions, in bytes.
const maxInstructions = 1 << 10

// attach dials, shakes hands and lists the tools. Only then is the server ready.
func (s *server) attach(ctx context.Context) (transport.Conn, serverInfo, error) {
	if s.Look().State == schemas.StateBackoff {
		s.update(func(now *look) {
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

// openAs dials and begins according to cfg, over the older HTTP and SSE transport if the server
// refuses the newer one.
func (s *server) openAs(ctx context.Context, cfg transport.ServerConfig) (transport.Conn, serverInfo, error) {
	conn, info, err := s.openOver(ctx, cfg)
	if legacy, ok := errors.AsType[*transport.LegacyError](err); ok && cfg.Transport() == transport.TypeHTTP {
		cfg.Type = transport.TypeSSE
		ctx, cancel := context.WithTimeout(ctx, s.startTimeout()/2)
		defer cancel()
		if conn, info, sseErr := s.openOver(ctx, cfg); sseErr == nil {
			s.log.Info("MCP server speaks the older HTTP and SSE transport", "refusal", legacy.Status)
			return conn, info, nil
		}
	}
	return conn, info, err
}

// openOver dials and begins over the transport of cfg.
func (s *server) openOver(ctx context.Context, cfg transport.ServerConfig) (transport.Conn, serverInfo, error) {
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
	info, err := s.shakeHands(ctx, conn, cfg.Handshake())
	switch {
	case err == nil:
	case cfg.Transport() == transport.TypeMessage && transport.Answered(err):
		info = serverInfo{Capabilities: capabilities{Tools: &toolsCapability{}}} // such servers need no handshake
	default:
		return nil, serverInfo{}, s.giveUp(conn, s.tooLate(transport.MethodInitialize), refusedHandshake(err))
	}
	info.transport = cfg.Transport()
	return conn, info, nil
}

// shakeHands begins at protocol, or at the newest of the revisions that the server names instead.
func (s *server) shakeHands(ctx context.Context, conn transport.Conn, protocol string) (serverInfo, error) {
	info, err := initialize(ctx, conn, protocol, &s.settings)
	if !s.Config().Pinned() {
		if older := newestOf(offeredVersions(err), transport.Handshakes()); older != "" && older != protocol {
			return initialize(ctx, conn, older, &s.settings)
		}
	}
	return info, err
}

// tooLate returns the text for a method that was not answered in time.
func (s *server) tooLate(method string) string {
	return fmt.Sprintf("%s was not answered within %s: raise %s.start_timeout if it needs longer", method, s.startTimeout(), s.Config().Place())
}

// greetStateless discovers a server that has no handshake.
func (s *server) greetStateless(ctx context.Context, conn transport.Conn) (transport.Conn, serverInfo, error) {
	wrapped, err := newStateless(conn, &s.settings)
	if err != nil {
		return nil, serverInfo{}, s.giveUp(conn, "", err)
	}
	info, err := discover(ctx, wrapped)
	if err != nil {
		return nil, serverInfo{}, s.giveUp(conn, s.tooLate(transport.MethodDiscover), err)
	}
	if !transport.IsNull(info.Capabilities.Logging) {
		wrapped.hearLog()
	}
	info.transport = s.Config().Transport()
	return &inputs{Conn: wrapped, answer: s.answer}, info, nil
}

// giveUp closes a connection that could not be made ready and explains why. late is the text for
// a timeout.
func (s *server) giveUp(conn transport.Conn, late string, err error) error {
	_ = conn.Close()
	lines := saidBy(conn, time.Time{})
	s.update(func(now *look) { now.Stderr = lines })
	if errors.Is(err, context.DeadlineExceeded) {
		err = &lateError{late}
	}
	why, tells := lastwords.Why(lines)
	noise := ""
	talker, isTalker := transport.Innermost(conn).(stderrHolder)
	if isTalker && !tells {
		noise = talker.Noise()
	}
	if noise != "" {
		err = fmt.Errorf("%w; on standard output it wrote “%s”, which is not a message", err, noise)
	}
	switch {
	case tells:
		err = fmt.Errorf("%w; it said “%s”", err, why)
	case why != "":
		err = fmt.Errorf("%w; its last words were “%s”", err, why)
	case isTalker && noise == "" && errors.Is(err, transport.ErrLost):
		err = fmt.Errorf("%w; it said nothing", err)
	}
	return err
}

// A lateError names the request that timed out.
type lateError struct{ text string }

func (e *lateError) Error() string { return e.text }
func (e *lateError) Unwrap() error { return context.DeadlineExceeded }

// A stderrHolder is a connection that keeps what its server writes beside the messages: the last
// lines, all since a time, and the first line on standard output that was not a message.
type stderrHolder interface {
	Stderr() []string
	Said(since time.Time) []string
	Noise() string
}

// A headerMirror is a connection that needs the tools because it repeats some of their arguments
// outside the message. It returns the tools it can call, and why it skipped the others.
type headerMirror interface {
	MirrorTools(tools []schemas.ToolInfo) (kept []schemas.ToolInfo, skipped []string)
}

func stderrOf(conn transport.Conn) []string {
	if holder, ok := transport.Innermost(conn).(stderrHolder); ok {
		return holder.Stderr()
	}
	return nil
}

// saidBy returns what the server of a connection wrote since the time.
func saidBy(conn transport.Conn, since time.Time) []string {
	if holder, ok := transport.Innermost(conn).(stderrHolder); ok {
		return holder.Said(since)
	}
	return nil
}

func (s *server) becomeReady(conn transport.Conn, info serverInfo, tools []schemas.ToolInfo, skipped []string, took time.Duration) {
	s.shelf.Instruct(text.Shorten(strings.TrimSpace(text.Visible(strings.ToValidUTF8(info.Instructions, "?"))), maxInstructions))
	s.shelf.Put(tools)
	s.prompts.attached(info)
	s.conn.Store(&liveConn{conn})
	if s.Look().Protocol != "" { // it was ready before
		s.settings.Telemetry.CountReconnect(s.Name())
	}
	s.update(func(now *look) {
		now.attempts++
		now.wasReady = true
		now.State, now.Reason, now.Skipped, now.Stderr = schemas.StateReady, "", skipped, nil
		if s.warning != "" {
			now.State, now.Reason = schemas.StateDegraded, s.warning
		}
		now.Protocol, now.Version = info.Protocol, text.Shorten(text.Visible(info.ServerInfo.Version), 80)
		now.Transport, now.StartMS = info.transport, took.Milliseconds()
	})
	s.log.Info("MCP server is ready", "tools", len(tools), "skipped", len(skipped), "protocol", info.Protocol,
		"transport", info.transport, "after", took)
}

// listTools reads the tool list within one time limit. A server that announces no tools may
// refuse to list them.
func (s *server) listTools(ctx context.Context, conn transport.Conn, info serverInfo) ([]schemas.ToolInfo, []string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.ListTimeout)
	defer cancel()
	tools, skipped, err := list(ctx, conn, s.Name())
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

// notified handles each notification of the connection.
func (s *server) notified(method string, params json.RawMessage) {
	switch method {
	case transport.MethodProgress:
		s.progress.notified(params)
	case methodLogged:
		s.logged(params)
	case methodPromptsChanged:
		s.prompts.changed()
	case transport.MethodListChanged, transport.MethodSubscribed: // what changed before a subscription was not reported
		select {
		case s.list <- struct{}{}:
		default: // a refresh is due already
		}
	}
}
