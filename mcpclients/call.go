package mcpclients

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"molar/internal/telemetry"
	"molar/schemas"
)

// Call executes a tool, named by its server and its own name. args is a JSON
// object; nil, empty and null mean no arguments. The tool's own faults, and errors
// that the server answers with, are results with IsError set. A Go error means that
// there is no answer: [ErrUnavailable] when nothing was sent, [ErrLost] or the end
// of ctx when the call may have had its effect. A call whose connection is lost is
// repeated once if the operator marked the tool as read-only or idempotent; no other
// call is ever repeated, but for one that the server refused because it had
// forgotten the session.
func (m *Manager) Call(ctx context.Context, server, tool string, args json.RawMessage) (schemas.ToolResult, error) {
	params, err := callParams(tool, args)
	if err != nil {
		return schemas.ToolResult{}, fmt.Errorf("call tool %q on server %q: %w", tool, server, err)
	}
	for {
		s, err := m.server(server)
		if err != nil {
			return schemas.ToolResult{}, fmt.Errorf("call tool %q: %w", tool, err)
		}
		result, err := s.call(ctx, tool, params)
		if err == nil || !m.replaced(ctx, s, err) {
			return result, err
		}
	}
}

// replaced reports whether a call that s did not take should go to the server that
// a new config put in its place.
func (m *Manager) replaced(ctx context.Context, s *server, err error) bool {
	return errors.Is(err, ErrUnavailable) && ctx.Err() == nil && s.isRetired()
}

// call executes one tool of the server.
func (s *server) call(ctx context.Context, tool string, params callArgs) (schemas.ToolResult, error) {
	cfg := s.config()
	if !cfg.includes(tool) {
		return schemas.ToolResult{}, fmt.Errorf("call tool %q on server %q: %w: excluded by includeTools or excludeTools", tool, s.name, ErrUnavailable)
	}
	if why := s.withheld(tool); why != "" {
		return schemas.ToolResult{}, fmt.Errorf("call tool %q on server %q: %w: %s", tool, s.name, ErrUnavailable, why)
	}
	rule := cfg.rule(tool)
	ctx, span := s.startRPC(ctx, methodCallTool, tool)
	limit := cmp.Or(rule.Timeout, cfg.timeout())
	started := time.Now()
	raw, err := s.callWithin(ctx, limit, rule.ReadOnly || rule.Idempotent, params)
	code := refusalCode(err)
	result, err := s.resultOf(raw, err)
	span.End(code, result.IsError, err)
	took := time.Since(started)
	if err != nil {
		return schemas.ToolResult{}, s.callError(ctx, tool, took, limit, err)
	}
	result.Server, result.ToolName, result.Duration = s.name, tool, took
	return result, nil
}

// callWithin sends a call. Over connections that can bring signs of progress, each
// sign starts the limit anew.
func (s *server) callWithin(ctx context.Context, limit time.Duration, repeat bool, params callArgs) (json.RawMessage, error) {
	if kind := s.config().transport(); kind == TypeInProcess || kind == TypeMessage {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, errCallTimeout)
		defer cancel()
		return s.request(ctx, methodCallTool, params.encode(0, telemetry.Meta(ctx)), repeat)
	}
	ctx, touch, cancel := withIdleLimit(ctx, limit)
	defer cancel()
	token := s.progress.watch(touch)
	defer s.progress.forget(token)
	return s.request(ctx, methodCallTool, params.encode(token, telemetry.Meta(ctx)), repeat)
}

// callArgs are the params of tools/call but for their last brace.
type callArgs []byte

// callParams builds the params of tools/call.
func callParams(tool string, args json.RawMessage) (callArgs, error) {
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
	return callArgs(params[:len(params)-1]), nil
}

// encode completes the params, with a progress token unless it is 0, and with the
// trace context, if there is one: traceparent and tracestate, which hold no character
// that JSON would escape.
func (a callArgs) encode(token int64, trace map[string]string) json.RawMessage {
	params := append(make([]byte, 0, len(a)+48), a...)
	opening := `,"_meta":{`
	if token != 0 {
		params = append(params, opening+`"progressToken":`...)
		params = strconv.AppendInt(params, token, 10)
		opening = ","
	}
	for _, name := range slices.Sorted(maps.Keys(trace)) {
		params = append(params, opening+strconv.Quote(name)+":"+strconv.Quote(trace[name])...)
		opening = ","
	}
	if opening == "," {
		params = append(params, '}')
	}
	return append(params, '}')
}

// startRPC begins the span of a request to the server, when spans are wanted.
func (s *server) startRPC(ctx context.Context, method, tool string) (context.Context, *telemetry.RPCSpan) {
	if !s.settled.telemetry.Tracing() {
		return ctx, nil
	}
	status := s.look().status
	return s.settled.telemetry.StartRPC(ctx, telemetry.RPC{
		Server: s.name, Method: method, Tool: tool, Transport: status.Transport, Protocol: status.Protocol,
	})
}

// refusalCode is the code of an error that a server answered with, else 0.
func refusalCode(err error) int {
	if refused, ok := errors.AsType[*RPCError](err); ok {
		return refused.Code
	}
	return 0
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

// callError says what happened to a call and what to do. The time stands in it only
// where it is the fault: models read the text, and the same fault should give the same.
func (s *server) callError(ctx context.Context, tool string, took, limit time.Duration, err error) error {
	advice, waited := "", ""
	switch {
	case errors.Is(err, ErrUnavailable):
	case errors.Is(err, errCallTimeout) && ctx.Err() == nil:
		waited = fmt.Sprintf("no answer after %s: ", took.Round(roundTo(took)))
		advice = fmt.Sprintf("; the limit is %s: raise mcpServers.%s.timeout if the tool needs longer", limit, s.name)
	case errors.Is(err, ErrLost), errors.Is(err, ErrClosed):
		advice = "; it is unknown whether the call had its effect: check before repeating it"
	}
	return fmt.Errorf("call tool %q on server %q: %s%w%s", tool, s.name, waited, err, advice)
}

// roundTo is how exact a time is worth telling.
func roundTo(d time.Duration) time.Duration {
	if d >= 2*time.Second {
		return time.Second
	}
	return 100 * time.Millisecond
}

// Request sends any JSON-RPC method to a server, for methods that are not part of
// MCP. params is encoded unless nil; the answer is decoded into result unless nil.
// An error of the server's is an [*RPCError].
func (m *Manager) Request(ctx context.Context, server, method string, params, result any) error {
	var raw json.RawMessage
	var err error
	if params != nil {
		if raw, err = json.Marshal(params); err != nil {
			return fmt.Errorf("request %s of server %q: %w", method, server, err)
		}
	}
	raw, err = m.requestRaw(ctx, server, method, raw)
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

// requestRaw sends a request that is no tool call.
func (m *Manager) requestRaw(ctx context.Context, name, method string, params json.RawMessage) (json.RawMessage, error) {
	for {
		s, err := m.server(name)
		if err != nil {
			return nil, err
		}
		limited, cancel := context.WithTimeoutCause(ctx, s.config().timeout(), errCallTimeout)
		limited, span := s.startRPC(limited, method, "")
		raw, err := s.request(limited, method, params, false)
		cancel()
		span.End(refusalCode(err), false, err)
		if err == nil || !m.replaced(ctx, s, err) {
			return raw, err
		}
	}
}
