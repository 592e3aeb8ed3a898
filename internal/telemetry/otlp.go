package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// The environment variables that switch the export on and choose it. The SDK reads
// the others itself (timeouts, compression, certificates, batches, sampling):
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/
const (
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envHeaders        = "OTEL_EXPORTER_OTLP_HEADERS"
	envTracesHeaders  = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envDisabled       = "OTEL_SDK_DISABLED"
	envServiceName    = "OTEL_SERVICE_NAME"
	envResource       = "OTEL_RESOURCE_ATTRIBUTES"
	envContent        = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
)

// traces is the export of spans.
type traces struct {
	provider *trace.TracerProvider
	exporter trace.SpanExporter
	tracer   api.Tracer
	context  propagation.TraceContext
	// content puts the texts of people, models and tools into spans.
	content bool
}

// openTraces starts the export if the environment asks for it; otherwise it returns nil, and
// no part of the SDK runs.
func openTraces(ctx context.Context, cfg Config, log *slog.Logger) (*traces, error) {
	env := func(names ...string) string {
		for _, name := range names {
			if value, ok := cfg.Env(name); ok && value != "" {
				return value
			}
		}
		return ""
	}
	endpoint, err := tracesEndpoint(env)
	if err != nil || endpoint == "" {
		return nil, err
	}
	headers, err := pairs(env(envTracesHeaders, envHeaders))
	if err != nil {
		return nil, fmt.Errorf("%s: want NAME=value pairs with commas between them", envHeaders)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint), otlptracehttp.WithHeaders(headers))
	if err != nil {
		return nil, errors.New("the OTLP exporter cannot be set up: check the OTEL_EXPORTER_OTLP_ variables")
	}
	described, err := describe(cfg.Version, env)
	if err != nil {
		return nil, err
	}
	provider := trace.NewTracerProvider(
		trace.WithBatcher(lossLogger{exporter, log}),
		trace.WithResource(described),
	)
	return &traces{
		provider: provider,
		exporter: exporter,
		tracer:   provider.Tracer("molar", api.WithInstrumentationVersion(cfg.Version)),
		content:  strings.EqualFold(env(envContent), "true"),
	}, nil
}

// tracesEndpoint returns the address that spans are sent to, or "" if none.
func tracesEndpoint(env func(...string) string) (string, error) {
	if strings.EqualFold(env(envDisabled), "true") || strings.EqualFold(env(envExporter), "none") {
		return "", nil
	}
	endpoint := env(envTracesEndpoint)
	if endpoint == "" && env(envEndpoint) != "" {
		endpoint = strings.TrimSuffix(env(envEndpoint), "/") + "/v1/traces"
	}
	if endpoint == "" {
		return "", nil
	}
	if p := env(envTracesProtocol, envProtocol); p != "" && p != "http/protobuf" {
		return "", fmt.Errorf("%s: molar exports over http/protobuf; set that, and the address of the collector's HTTP port (4318)", envProtocol)
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("%s: want an address such as http://127.0.0.1:4318", envEndpoint)
	}
	return endpoint, nil
}

// describe returns the resource: the program that the spans come from.
func describe(version string, env func(...string) string) (*resource.Resource, error) {
	given, err := pairs(env(envResource))
	if err != nil {
		return nil, fmt.Errorf("%s: want NAME=value pairs with commas between them", envResource)
	}
	attrs := attributes{keyServiceName.String("molar"), keyServiceVersion.String(version)}
	for name, value := range given {
		attrs.text(name, value)
	}
	if name := env(envServiceName); name != "" {
		attrs = append(attrs, keyServiceName.String(name))
	}
	return resource.NewSchemaless(attrs...), nil // of equal keys the last one stays
}

// pairs reads NAME=value,NAME=value with values as in a URL.
func pairs(text string) (map[string]string, error) {
	found := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, errors.New("a pair has no name")
		}
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil {
			return nil, err
		}
		found[strings.TrimSpace(name)] = value
	}
	return found, nil
}

// lossLogger logs lost spans, since the SDK has only a global handler for them. The exporter's
// error may hold a collector's answer: the log gets the kind of fault, and the rest at debug.
type lossLogger struct {
	trace.SpanExporter
	log *slog.Logger
}

func (l lossLogger) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	err := l.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		l.log.Warn("spans are lost: the OTLP collector did not take them", "spans", len(spans))
		l.log.Debug("export of spans", "error", err)
	}
	return nil
}
