package telemetry

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	api "go.opentelemetry.io/otel/trace"

	"molar/schemas"
)

// A ModelCall is the start of a model call.
type ModelCall struct {
	Provider, Model, Pass string
	// Assistant is the configured one that the call is for; empty outside of turns.
	Assistant string
	// ClientModel is set if a client named the model, so that the name may be anything.
	ClientModel bool
	MaxTokens   int
	Temperature *float64
	// System and Messages are put into the span only if texts are captured.
	System   string
	Messages []schemas.Message
}

// A ModelSpan is a running model call. It belongs to one goroutine.
type ModelSpan struct {
	t       *Telemetry
	call    ModelCall
	span    api.Span
	started time.Time
	first   time.Duration
	served  bool // by another provider than the requested one
}

// StartModelCall begins the span chat of a model call. It returns nil if telemetry is off.
func (t *Telemetry) StartModelCall(ctx context.Context, c ModelCall) (context.Context, *ModelSpan) {
	if t == nil || t.metrics == nil && t.traces == nil {
		return ctx, nil
	}
	s := &ModelSpan{t: t, call: c, started: time.Now()}
	if t.Tracing() {
		attrs := attributes{keyRequestStream.Bool(true)}
		attrs.add(keyOperation, opChat)
		attrs.add(keyProvider, t.providerName(c.Provider))
		attrs.add(keyEndpoint, c.Provider)
		attrs.add(keyRequestModel, c.Model)
		attrs.add(keyPass, c.Pass)
		attrs.count(keyMaxTokens, c.MaxTokens)
		if c.Temperature != nil {
			attrs = append(attrs, keyTemperature.Float64(*c.Temperature))
		}
		if t.traces.content {
			attrs.add(keySystem, c.System)
			attrs.add(keyInput, asJSON(c.Messages))
		}
		name := opChat
		if c.Model != "" {
			name += " " + c.Model
		}
		ctx, s.span = t.start(ctx, api.SpanKindClient, name, attrs)
	}
	return ctx, s
}

// FirstOutput records the time of the first output.
func (s *ModelSpan) FirstOutput() {
	if s != nil && s.first == 0 {
		s.first = max(time.Since(s.started), 1)
	}
}

// Served records that a provider other than the requested one answers.
func (s *ModelSpan) Served(provider, model string) {
	if s != nil {
		s.call.Provider, s.call.Model, s.call.ClientModel = provider, model, false
		s.served = true
	}
}

// A ModelEnd is the end of a model call.
type ModelEnd struct {
	Usage  schemas.Usage
	Finish string
	// Kind is the kind of a provider's error; Err ended the call. Stopped is set if the reader
	// had left.
	Kind    string
	Err     error
	Stopped bool
	// Output is the model's text, if texts are captured.
	Output string
}

// CapturesText reports whether the texts of models and people go into spans.
func (t *Telemetry) CapturesText() bool { return t.Tracing() && t.traces.content }

// End counts the call and ends the span.
func (s *ModelSpan) End(e ModelEnd) {
	if s == nil {
		return
	}
	s.count(e)
	var attrs attributes
	attrs.add(keyResponseModel, s.call.Model)
	if s.served {
		attrs.add(keyProvider, s.t.providerName(s.call.Provider))
		attrs.add(keyEndpoint, s.call.Provider)
	}
	attrs.count(keyInputTokens, e.Usage.PromptTokens)
	attrs.count(keyOutputTokens, e.Usage.CompletionTokens)
	attrs.count(keyCachedTokens, e.Usage.CachedTokens)
	attrs.count(keyReasoning, e.Usage.ReasoningTokens)
	if e.Usage.Cost > 0 {
		attrs = append(attrs, keyCost.Float64(e.Usage.Cost.Amount()))
	}
	if e.Finish != "" {
		attrs = append(attrs, keyFinish.StringSlice([]string{e.Finish}))
	}
	if s.first > 0 {
		attrs = append(attrs, keyFirstChunk.Float64(s.first.Seconds()))
	}
	attrs.add(keyOutput, e.Output)
	end(s.span, faultOf(e.Err, e.Kind), attrs)
}

func (s *ModelSpan) count(e ModelEnd) {
	m := s.t.metrics
	if m == nil {
		return
	}
	model := m.models.of(s.call.Model, s.call.ClientModel)
	outcome := "ok"
	switch {
	case e.Err != nil:
		outcome = faultOf(e.Err, e.Kind)
	case e.Stopped:
		outcome = "stopped"
	}
	m.modelCalls.WithLabelValues(s.call.Provider, model, s.call.Pass, outcome).Inc()
	m.modelTime.WithLabelValues(s.call.Provider, model).Observe(time.Since(s.started).Seconds())
	if s.first > 0 {
		m.firstTime.WithLabelValues(s.call.Provider, model).Observe(s.first.Seconds())
	}
	m.tokens.WithLabelValues(s.call.Provider, model, s.call.Assistant, "input").Add(float64(e.Usage.PromptTokens))
	m.tokens.WithLabelValues(s.call.Provider, model, s.call.Assistant, "output").Add(float64(e.Usage.CompletionTokens))
	if e.Usage.Cost > 0 {
		m.cost.WithLabelValues(s.call.Provider, model).Add(e.Usage.Cost.Amount())
	}
	m.tokenParts.WithLabelValues(s.call.Provider, "cached").Add(float64(e.Usage.CachedTokens))
	m.tokenParts.WithLabelValues(s.call.Provider, "reasoning").Add(float64(e.Usage.ReasoningTokens))
}

// A ToolSpan is the execution of a tool call.
type ToolSpan struct {
	t    *Telemetry
	span api.Span
}

// StartTool begins the span execute_tool of a call. It returns nil without an export.
func (t *Telemetry) StartTool(ctx context.Context, server, tool string, args json.RawMessage) (context.Context, *ToolSpan) {
	if !t.Tracing() {
		return ctx, nil
	}
	var attrs attributes
	attrs.add(keyOperation, opExecuteTool)
	attrs.add(keyToolName, tool)
	attrs.add(keyToolType, "extension") // it runs on a server, on the host's side
	attrs.add(keyServer, server)
	if t.traces.content {
		attrs.add(keyToolArguments, string(args))
	}
	ctx, span := t.start(ctx, api.SpanKindInternal, opExecuteTool+" "+tool, attrs)
	return ctx, &ToolSpan{t, span}
}

// End ends the span.
func (s *ToolSpan) End(result schemas.ToolResult, err error) {
	if s == nil {
		return
	}
	var attrs attributes
	if s.t.traces.content {
		attrs.add(keyToolResult, string(result.Output))
	}
	end(s.span, toolFault(result.IsError, err), attrs)
}

// toolFault returns the class of a call's error: the conventions define one for a tool's own.
func toolFault(isError bool, err error) string {
	if err == nil && isError {
		return "tool_error"
	}
	return faultOf(err, "")
}

// An RPC is the start of a request to an MCP server.
type RPC struct {
	Server, Method string
	// Tool is set for tools/call.
	Tool string
	// Transport is "stdio", "http", "sse", "message" or "in-process".
	Transport, Protocol string
}

// An RPCSpan is a running request to an MCP server.
type RPCSpan struct{ span api.Span }

// StartRPC begins the span of a request to an MCP server. It returns nil without an export,
// and outside every other span: pings and lists are of no interest.
func (t *Telemetry) StartRPC(ctx context.Context, r RPC) (context.Context, *RPCSpan) {
	if !t.Tracing() || !api.SpanContextFromContext(ctx).IsValid() {
		return ctx, nil
	}
	var attrs attributes
	attrs.add(keyMCPMethod, r.Method)
	attrs.add(keyMCPProtocol, r.Protocol)
	attrs.add(keyServer, r.Server)
	attrs.add(keyTransport, transportName(r.Transport))
	name := r.Method
	if r.Tool != "" {
		attrs.add(keyOperation, opExecuteTool)
		attrs.add(keyToolName, r.Tool)
		name += " " + r.Tool
	}
	ctx, span := t.start(ctx, api.SpanKindClient, name, attrs)
	return ctx, &RPCSpan{span}
}

// End ends the span. code is the JSON-RPC error code of a refusal, else 0.
func (s *RPCSpan) End(code int, isError bool, err error) {
	if s == nil {
		return
	}
	var attrs attributes
	fault := toolFault(isError, err)
	if code != 0 {
		fault = strconv.Itoa(code)
		attrs.add(keyRPCStatus, fault)
	}
	end(s.span, fault, attrs)
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}
