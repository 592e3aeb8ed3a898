// Package telemetry makes a running host observable: it provides the Prometheus metrics, the
// OpenTelemetry spans with their export over OTLP, and the list of the last tool calls. It is the
// only package that uses those two SDKs.
//
// It never affects or blocks a turn, and puts neither texts of people nor arbitrary names from
// clients into a metric. New builds everything; nothing is registered globally.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"molar/schemas"
)

const defaultFlush = 3 * time.Second

// Config configures [New]. All fields may be zero.
type Config struct {
	// Version of the program, sent to the collector.
	Version string
	// Metrics turns the Prometheus registry on.
	Metrics bool
	// Env looks up the standard OTEL_ variables; nil means that nothing is exported.
	Env func(string) (string, bool)
	// Models are the configured models. A model that a client asks for by name
	// becomes a label only if it is one of them.
	Models []string
	// ProviderName returns the name of a provider in the semantic conventions. If it is nil or
	// returns "", the provider's own name is used.
	ProviderName func(name string) string
	// Servers returns the state of the MCP servers when metrics are read.
	Servers func() []schemas.ServerStatus
	// TracesDropped counts turns' traces that were not stored.
	TracesDropped func() int64
	// SummariesBehind counts turns whose summary is not written yet; nil if another process stores
	// the conversations.
	SummariesBehind func() int64
	// Flush limits the last export at the end; zero means 3 s.
	Flush  time.Duration
	Logger *slog.Logger
}

// A Telemetry counts, traces and remembers. A nil one does nothing, so that callers need not
// check. It is safe for concurrent use.
type Telemetry struct {
	metrics *metrics // nil when off
	traces  *traces  // nil when off
	calls   ring
	flush   time.Duration
	log     *slog.Logger
	// convention is [Config.ProviderName].
	convention func(name string) string
}

// New builds the telemetry. The exporter's faults are errors here only if its settings make no
// sense; an unreachable collector is logged and costs spans, never a turn.
func New(ctx context.Context, cfg Config) (*Telemetry, error) {
	t := &Telemetry{log: cfg.Logger, flush: cmp.Or(cfg.Flush, defaultFlush), convention: cfg.ProviderName}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if cfg.Metrics {
		t.metrics = newMetrics(cfg)
	}
	if cfg.Env == nil {
		return t, nil
	}
	var err error
	t.traces, err = openTraces(ctx, cfg, t.log)
	return t, err
}

// Close exports the queued spans, for as long as the config allows.
func (t *Telemetry) Close() error {
	if t == nil || t.traces == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.flush)
	defer cancel()
	if err := t.traces.provider.Shutdown(ctx); err != nil {
		// The export may still be retrying in the background: this ends it.
		_ = t.traces.exporter.Shutdown(context.WithoutCancel(ctx))
		return errors.New("the last spans could not be exported to the OTLP collector in time")
	}
	return nil
}

// providerName returns the name of a provider in the semantic conventions.
func (t *Telemetry) providerName(name string) string {
	if t.convention == nil {
		return name
	}
	return cmp.Or(t.convention(name), name)
}

// Tracing reports whether spans are exported.
func (t *Telemetry) Tracing() bool { return t != nil && t.traces != nil }

// Metrics answers a scrape in the Prometheus text format, or nil when metrics are
// off.
func (t *Telemetry) Metrics() http.Handler {
	if t == nil || t.metrics == nil {
		return nil
	}
	return t.metrics.handler()
}
