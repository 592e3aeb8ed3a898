package mcpclients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"molar/schemas"
)

// Call executes a tool, named by its server and its own name. args is a JSON
// object; nil, empty and null mean no arguments. The tool's own faults, and errors
// that the server answers with, are results with IsError set. A Go error means that
// there is no answer: [ErrUnavailable] when nothing was sent, [ErrLost] or the end
// of ctx when the call may have had its effect. Nothing is ever repeated, but for a
// call that the server refused because it had forgotten the session.
func (m *Manager) Call(ctx context.Context, server, tool string, args json.RawMessage) (schemas.ToolResult, error) {
	s, err := m.server(server)
	if err != nil {
		return schemas.ToolResult{}, fmt.Errorf("call tool %q: %w", tool, err)
	}
	params, err := callParams(tool, args)
	if err != nil {
		return schemas.ToolResult{}, fmt.Errorf("call tool %q on server %q: %w", tool, server, err)
	}
	if !s.cfg.includes(tool) {
		return schemas.ToolResult{}, fmt.Errorf("call tool %q on server %q: %w: excluded by includeTools or excludeTools", tool, server, ErrUnavailable)
	}
	limit := s.cfg.timeout()
	if rule := s.cfg.rule(tool); rule.Timeout > 0 {
		limit = rule.Timeout
	}
	started := time.Now()
	raw, err := s.request(ctx, limit, methodCallTool, params)
	result, err := s.resultOf(raw, err)
	took := time.Since(started)
	if err != nil {
		return schemas.ToolResult{}, s.callError(ctx, tool, took, limit, err)
	}
	result.Server, result.ToolName, result.Duration = server, tool, took
	return result, nil
}

// callParams builds the params of tools/call.
func callParams(tool string, args json.RawMessage) (json.RawMessage, error) {
	args = bytes.TrimSpace(args)
	if isNull(args) {
		args = json.RawMessage(`{}`)
	}
	if args[0] != '{' {
		return nil, errors.New("the arguments are not a JSON object")
	}
	params, err := json.Marshal(struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}{tool, args})
	if err != nil {
		return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	return params, nil
}

// resultOf makes a result of an answer, also of one that is an error.
func (s *server) resultOf(raw json.RawMessage, err error) (schemas.ToolResult, error) {
	if refused, ok := errors.AsType[*RPCError](err); ok {
		text := fmt.Sprintf("The server answered with error %d: %s", refused.Code, refused.Message)
		return schemas.ToolResult{Output: stringOutput(text, s.settled.maxResult), IsError: true}, nil
	}
	if err != nil {
		return schemas.ToolResult{}, err
	}
	return decodeResult(raw, s.settled.maxResult)
}

// callError says what happened to a call, after how long, and what to do.
func (s *server) callError(ctx context.Context, tool string, took, limit time.Duration, err error) error {
	advice := ""
	switch {
	case errors.Is(err, ErrUnavailable):
	case errors.Is(err, errCallTimeout) && ctx.Err() == nil:
		advice = fmt.Sprintf("; the limit is %s: raise mcpServers.%s.timeout if the tool needs longer", limit, s.cfg.Name)
	case errors.Is(err, ErrLost):
		advice = "; it is unknown whether the call had its effect: check before repeating it"
	}
	return fmt.Errorf("call tool %q on server %q: no answer after %s: %w%s", tool, s.cfg.Name, took.Round(time.Millisecond), err, advice)
}

// Request sends any JSON-RPC method to a server, for methods that are not part of
// MCP. params is encoded unless nil; the answer is decoded into result unless nil.
// An error of the server's is an [*RPCError].
func (m *Manager) Request(ctx context.Context, server, method string, params, result any) error {
	s, err := m.server(server)
	if err != nil {
		return fmt.Errorf("request %s: %w", method, err)
	}
	var raw json.RawMessage
	if params != nil {
		if raw, err = json.Marshal(params); err != nil {
			return fmt.Errorf("request %s of server %q: %w", method, server, err)
		}
	}
	raw, err = s.request(ctx, s.cfg.timeout(), method, raw)
	if err != nil {
		return fmt.Errorf("request %s of server %q: %w", method, server, err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("answer to %s of server %q: %w", method, server, err)
	}
	return nil
}

func ended(conn Conn) bool {
	select {
	case <-conn.Done():
		return true
	default:
		return false
	}
}

// errCallTimeout is the cause of a ctx that reached the limit of one call.
var errCallTimeout = fmt.Errorf("the call took too long: %w", context.DeadlineExceeded)

// request sends one request within limit, waiting for the server if need be.
func (s *server) request(ctx context.Context, limit time.Duration, method string, params json.RawMessage) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errCallTimeout)
	defer cancel()
	conn, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := conn.Request(ctx, method, params)
	if ended(conn) && (errors.Is(err, ErrSession) || errors.Is(err, ErrUnavailable)) {
		// Refused, or never sent: it had no effect, so a new connection may have it.
		if conn, err = s.readyAfter(ctx, conn); err != nil {
			return nil, err
		}
		raw, err = conn.Request(ctx, method, params)
	}
	if refused, ok := errors.AsType[*RPCError](err); ok {
		named := *refused
		named.Server = s.cfg.Name
		return nil, &named
	}
	return raw, err
}
