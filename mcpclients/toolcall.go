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
	"molar/mcpclients/transport"
	"molar/schemas"
)

// Call executes one tool of the server for a person, nil for none.
func (s *server) Call(ctx context.Context, person *schemas.Person, tool string, params callArgs) (schemas.ToolResult, error) {
	if s.seats != nil {
		return s.seats.call(ctx, person, tool, params)
	}
	cfg := s.Config()
	if !cfg.Includes(tool) {
		return schemas.ToolResult{}, fmt.Errorf("call tool %q on server %q: %w: excluded by includeTools or excludeTools", tool, s.Name(), transport.ErrUnavailable)
	}
	if why := s.shelf.Withheld(tool); why != "" {
		return schemas.ToolResult{}, fmt.Errorf("call tool %q on server %q: %w: %s", tool, s.Name(), transport.ErrUnavailable, why)
	}
	rule := cfg.Rule(tool)
	defer s.askers.begin(person)()
	ctx, span := s.startRPC(ctx, transport.MethodCallTool, tool)
	limit := cmp.Or(rule.Timeout, cfg.CallTimeout())
	started := time.Now()
	raw, err := s.callWithin(ctx, person, tool, limit, rule.ReadOnly || rule.Idempotent, params)
	code := refusalCode(err)
	result, err := s.resultOf(raw, err)
	span.End(code, result.IsError, err)
	took := time.Since(started)
	if err != nil {
		return schemas.ToolResult{}, s.callError(ctx, tool, took, limit, err)
	}
	result.Server, result.ToolName, result.Duration = s.Name(), tool, took
	return result, nil
}

// callWithin sends a call. On connections that can report progress, each report restarts the
// limit.
func (s *server) callWithin(ctx context.Context, person *schemas.Person, tool string, limit time.Duration, repeat bool, params callArgs) (json.RawMessage, error) {
	if kind := s.Config().Transport(); kind == transport.TypeInProcess || kind == transport.TypeMessage {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, errCallTimeout)
		defer cancel()
		return s.request(ctx, transport.MethodCallTool, params.encode(0, telemetry.Meta(ctx)), repeat)
	}
	ctx, idle, cancel := withIdleLimit(ctx, limit)
	defer cancel()
	token := s.progress.watch(idle, func(n schemas.News) { s.sendNews(person, tool, n) })
	defer s.progress.forget(token)
	return s.request(ctx, transport.MethodCallTool, params.encode(token, telemetry.Meta(ctx)), repeat)
}

// callArgs are the params of tools/call without the closing brace.
type callArgs []byte

// newArgs builds the params of tools/call.
func newArgs(tool string, args json.RawMessage) (callArgs, error) {
	args = bytes.TrimSpace(args)
	if transport.IsNull(args) {
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

// encode completes the params with a progress token, unless it is 0, and the trace context, if
// any: traceparent and tracestate, which need no JSON escapes.
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

// startRPC starts the span of a request to the server, if tracing is on.
func (s *server) startRPC(ctx context.Context, method, tool string) (context.Context, *telemetry.RPCSpan) {
	if !s.settings.Telemetry.Tracing() {
		return ctx, nil
	}
	status := s.Look()
	return s.settings.Telemetry.StartRPC(ctx, telemetry.RPC{
		Server: s.Name(), Method: method, Tool: tool, Transport: status.Transport, Protocol: status.Protocol,
	})
}

// refusalCode returns the code of the server's error answer, else 0.
func refusalCode(err error) int {
	if refused, ok := errors.AsType[*transport.RPCError](err); ok {
		return refused.Code
	}
	return 0
}

// resultOf makes a result of an answer or error answer.
func (s *server) resultOf(raw json.RawMessage, err error) (schemas.ToolResult, error) {
	if refused, ok := errors.AsType[*transport.RPCError](err); ok {
		text := fmt.Sprintf("The server answered with error %d: %s", refused.Code, refused.Message)
		return schemas.ToolResult{Output: quoted(text, s.settings.MaxResult), IsError: true}, nil
	}
	if err != nil {
		return schemas.ToolResult{}, err
	}
	return readResult(raw, s.settings.MaxResult)
}

// callError returns what happened to a call and what to do. It includes the time only for a
// timeout: models read the text, and the same fault should give the same text.
func (s *server) callError(ctx context.Context, tool string, took, limit time.Duration, err error) error {
	advice, elapsed := "", ""
	switch {
	case errors.Is(err, transport.ErrUnavailable):
	case errors.Is(err, errCallTimeout) && ctx.Err() == nil:
		elapsed = fmt.Sprintf("no answer after %s: ", took.Round(roundTo(took)))
		advice = fmt.Sprintf("; the limit is %s: raise mcpServers.%s.timeout if the tool needs longer", limit, s.Name())
	case errors.Is(err, transport.ErrLost), errors.Is(err, transport.ErrClosed):
		advice = "; it is unknown whether the call had its effect: check before repeating it"
	}
	return fmt.Errorf("call tool %q on server %q: %s%w%s", tool, s.Name(), elapsed, err, advice)
}

// roundTo returns the precision for showing a duration.
func roundTo(d time.Duration) time.Duration {
	if d >= 2*time.Second {
		return time.Second
	}
	return 100 * time.Millisecond
}

// Request sends a request that is not a tool call, within the limit of one call. It is for who asks where
// each person is connected apart.
func (s *server) Request(ctx context.Context, who schemas.Caller, method string, params json.RawMessage) (json.RawMessage, error) {
	if s.seats != nil {
		return s.seats.request(ctx, who, method, params)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.Config().CallTimeout(), errCallTimeout)
	defer cancel()
	ctx, span := s.startRPC(ctx, method, "")
	raw, err := s.request(ctx, method, params, false)
	span.End(refusalCode(err), false, err)
	return raw, err
}
