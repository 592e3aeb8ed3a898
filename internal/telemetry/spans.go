package telemetry

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	api "go.opentelemetry.io/otel/trace"

	"molar/schemas"
)

// attributes are collected before a span starts or ends. Empty values are left out.
type attributes []attribute.KeyValue

func (a *attributes) text(key, value string) { a.add(attribute.Key(key), value) }

func (a *attributes) add(key attribute.Key, value string) {
	if value != "" {
		*a = append(*a, key.String(value))
	}
}

func (a *attributes) count(key attribute.Key, n int) {
	if n > 0 {
		*a = append(*a, key.Int(n))
	}
}

// start begins a span below the one in ctx; without an export it is nil.
func (t *Telemetry) start(ctx context.Context, kind api.SpanKind, name string, attrs attributes) (context.Context, api.Span) {
	if !t.Tracing() {
		return ctx, nil
	}
	return t.traces.tracer.Start(ctx, name, api.WithSpanKind(kind), api.WithAttributes(attrs...))
}

// end ends a span. fault is the class of its error, or "".
func end(span api.Span, fault string, attrs attributes) {
	if span == nil {
		return
	}
	if fault != "" {
		attrs.add(keyErrorType, fault)
		span.SetStatus(codes.Error, fault)
	}
	span.SetAttributes(attrs...)
	span.End()
}

// faultOf returns the class of an error: few values, and no text of a person.
func faultOf(err error, kind string) string {
	switch {
	case err == nil:
		return ""
	case kind != "":
		return kind
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "_OTHER"
}

// A RequestSpan is a running HTTP request.
type RequestSpan struct {
	t             *Telemetry
	span          api.Span
	method, route string
	started       time.Time
}

// StartRequest begins the span of an HTTP request, as a child of the one in its traceparent
// header. route is the pattern, not the path.
func (t *Telemetry) StartRequest(r *http.Request, route, requestID string) (context.Context, *RequestSpan) {
	ctx := r.Context()
	if t == nil {
		return ctx, nil
	}
	s := &RequestSpan{t: t, method: r.Method, route: route, started: time.Now()}
	if t.Tracing() {
		var attrs attributes
		attrs.add(keyHTTPMethod, r.Method)
		attrs.add(keyHTTPRoute, route)
		attrs.add(keyRequestID, requestID)
		ctx = t.traces.context.Extract(ctx, propagation.HeaderCarrier(r.Header))
		ctx, s.span = t.start(ctx, api.SpanKindServer, r.Method+" "+route, attrs)
	}
	return ctx, s
}

// End ends it with the status of the answer.
func (s *RequestSpan) End(status int) {
	if s == nil {
		return
	}
	s.t.countRequest(s.method, s.route, status, time.Since(s.started))
	fault := ""
	if status >= http.StatusInternalServerError {
		fault = http.StatusText(status)
	}
	end(s.span, fault, attributes{keyHTTPStatus.Int(status)})
}

// A TurnSpan is a running turn.
type TurnSpan struct {
	span api.Span
	t    *Telemetry
}

// StartTurn begins the span invoke_agent of a turn.
func (t *Telemetry) StartTurn(ctx context.Context, turnID, assistant string) (context.Context, *TurnSpan) {
	if !t.Tracing() {
		return ctx, nil
	}
	name := opInvokeAgent
	if assistant != "" {
		name += " " + assistant
	}
	var attrs attributes
	attrs.add(keyOperation, opInvokeAgent)
	attrs.add(keyAgent, assistant)
	attrs.add(keyTurn, turnID)
	ctx, span := t.start(ctx, api.SpanKindInternal, name, attrs)
	return ctx, &TurnSpan{span, t}
}

// A TurnEnd is the result of a finished turn.
type TurnEnd struct {
	Conversation, Provider, Model string
	// Outcome is done, refused, interrupted or failed.
	Outcome               string
	InputTokens, OutToken int
	Cost                  schemas.Cost
	// Kind is the kind of a provider's error; Err ended the turn.
	Kind string
	Err  error
}

// End ends the span.
func (s *TurnSpan) End(e TurnEnd) {
	if s == nil {
		return
	}
	var attrs attributes
	attrs.add(keyConversation, e.Conversation)
	attrs.add(keyProvider, s.t.providerName(e.Provider))
	attrs.add(keyEndpoint, e.Provider)
	attrs.add(keyRequestModel, e.Model)
	attrs.add(keyOutcome, e.Outcome)
	attrs.count(keyInputTokens, e.InputTokens)
	attrs.count(keyOutputTokens, e.OutToken)
	if e.Cost > 0 {
		attrs = append(attrs, keyCost.Float64(e.Cost.Amount()))
	}
	end(s.span, faultOf(e.Err, e.Kind), attrs)
}

// Inject writes the W3C trace context of ctx's span, if there is one, into the
// headers of an outgoing request.
func Inject(ctx context.Context, h http.Header) {
	if api.SpanContextFromContext(ctx).IsValid() {
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

// Meta returns the W3C trace context of ctx's span as the fields that MCP puts into
// _meta, or nil when there is no span:
// https://modelcontextprotocol.io/specification/draft/basic#meta
func Meta(ctx context.Context) map[string]string {
	if !api.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, fields)
	return fields
}
