package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// Call executes a tool, named by its server and its own name. args is a JSON object; nil, empty
// and null mean no arguments. Faults of the tool, and errors that the server answers with, are
// results with IsError set. A Go error means that there is no answer: [ErrUnavailable] if nothing
// was sent, [ErrLost] or the end of ctx if the call may have had its effect. Call retries once
// after a lost connection if the operator marked the tool as read-only or idempotent; it retries
// no other call, except one that the server refused because it had forgotten the session.
func (m *Manager) Call(ctx context.Context, server, tool string, args json.RawMessage) (schemas.ToolResult, error) {
	return m.CallFor(ctx, nil, server, tool, args)
}

// CallFor is [Manager.Call] for a person, whom the server may ask during the call; nil means no
// person. While calls for several people are under way on a server, its questions are cancelled.
func (m *Manager) CallFor(ctx context.Context, person *schemas.Person, server, tool string, args json.RawMessage) (schemas.ToolResult, error) {
	params, err := newArgs(tool, args)
	if err != nil {
		return schemas.ToolResult{}, fmt.Errorf("call tool %q on server %q: %w", tool, server, err)
	}
	for {
		s, err := m.server(server)
		if err != nil {
			return schemas.ToolResult{}, fmt.Errorf("call tool %q: %w", tool, err)
		}
		result, err := s.Call(ctx, person, tool, params)
		if err == nil || !m.replaced(ctx, s, err) {
			return result, err
		}
	}
}

// replaced reports whether a call that s refused should go to the server that replaced s after a
// new config.
func (m *Manager) replaced(ctx context.Context, s *member, err error) bool {
	return errors.Is(err, transport.ErrUnavailable) && ctx.Err() == nil && s.Retired()
}

// Request sends any JSON-RPC method to a server, for methods outside MCP. params is encoded
// unless nil; the answer is decoded into result unless nil. An error answer of the server is an
// [*RPCError].
func (m *Manager) Request(ctx context.Context, server, method string, params, result any) error {
	return m.requestFor(ctx, schemas.Caller{}, server, method, params, result)
}

// requestFor is [Manager.Request] for a person, over whose connection it goes where each person has one.
func (m *Manager) requestFor(ctx context.Context, who schemas.Caller, server, method string, params, result any) error {
	var raw json.RawMessage
	var err error
	if params != nil {
		if raw, err = json.Marshal(params); err != nil {
			return fmt.Errorf("request %s of server %q: %w", method, server, err)
		}
	}
	raw, err = m.requestRaw(ctx, who, server, method, raw)
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

// requestRaw sends a request that is not a tool call.
func (m *Manager) requestRaw(ctx context.Context, who schemas.Caller, name, method string, params json.RawMessage) (json.RawMessage, error) {
	for {
		s, err := m.server(name)
		if err != nil {
			return nil, err
		}
		raw, err := s.Request(ctx, who, method, params)
		if err == nil || !m.replaced(ctx, s, err) {
			return raw, err
		}
	}
}
