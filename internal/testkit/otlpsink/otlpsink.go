// Package otlpsink is an OpenTelemetry collector for tests: it receives spans over OTLP/HTTP in
// protobuf, like a real one, and prints them as a tree. It keeps everything in memory and must
// not be used outside tests.
package otlpsink

import (
	"cmp"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A Sink is a running collector.
type Sink struct {
	// URL is the value for OTEL_EXPORTER_OTLP_ENDPOINT.
	URL string

	server *httptest.Server
	mu     sync.Mutex
	spans  []*trace.Span
	// resource and headers are those of the last export.
	resource map[string]string
	headers  http.Header
	status   int
}

// Start starts a collector; the caller closes it.
func Start() *Sink {
	s := &Sink{status: http.StatusOK}
	s.server = httptest.NewServer(http.HandlerFunc(s.take))
	s.URL = s.server.URL
	return s
}

// Close stops the collector.
func (s *Sink) Close() { s.server.Close() }

// Answer sets the status of the answers to later exports.
func (s *Sink) Answer(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *Sink) take(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != http.StatusOK {
		w.WriteHeader(s.status)
		return
	}
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "want protobuf at /v1/traces", http.StatusNotFound)
		return
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	data, err := io.ReadAll(body)
	var req collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(data, &req)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.headers = r.Header.Clone()
	for _, rs := range req.GetResourceSpans() {
		s.resource = attributes(rs.GetResource().GetAttributes())
		for _, scope := range rs.GetScopeSpans() {
			s.spans = append(s.spans, scope.GetSpans()...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// A Span is a received span.
type Span struct {
	TraceID, ID, Parent string
	Name                string
	Kind                string
	// Error is the description of its status if that is an error.
	Error      string
	Attributes map[string]string
}

// Spans returns the spans so far, by start time.
func (s *Sink) Spans() []Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.spans, func(a, b *trace.Span) int {
		return cmp.Compare(a.GetStartTimeUnixNano(), b.GetStartTimeUnixNano())
	})
	var all []Span
	for _, sp := range s.spans {
		span := Span{
			TraceID: hex.EncodeToString(sp.GetTraceId()), ID: hex.EncodeToString(sp.GetSpanId()),
			Parent: hex.EncodeToString(sp.GetParentSpanId()), Name: sp.GetName(),
			Kind:       strings.ToLower(strings.TrimPrefix(sp.GetKind().String(), "SPAN_KIND_")),
			Attributes: attributes(sp.GetAttributes()),
		}
		if sp.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR {
			span.Error = sp.GetStatus().GetMessage()
		}
		all = append(all, span)
	}
	return all
}

// Resource returns the resource attributes of the last export.
func (s *Sink) Resource() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resource
}

// Headers returns the HTTP headers of the last export.
func (s *Sink) Headers() http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers
}

// Tree prints the spans of one trace, children below their parents in the order of their start,
// each with the named attributes.
func (s *Sink) Tree(traceID string, show ...string) string {
	spans := s.Spans()
	var b strings.Builder
	var print func(parent string, depth int)
	print = func(parent string, depth int) {
		for _, span := range spans {
			if span.TraceID != traceID || span.Parent != parent && (depth > 0 || known(spans, span.Parent)) {
				continue
			}
			fmt.Fprintf(&b, "%s%s [%s]", strings.Repeat("  ", depth), span.Name, span.Kind)
			for _, name := range show {
				if value, ok := span.Attributes[name]; ok {
					fmt.Fprintf(&b, " %s=%s", name, value)
				}
			}
			if span.Error != "" {
				fmt.Fprintf(&b, " error: %s", span.Error)
			}
			b.WriteString("\n")
			print(span.ID, depth+1)
		}
	}
	print("", 0)
	return b.String()
}

// known reports whether a span with this id was received; a root's parent may be elsewhere.
func known(spans []Span, id string) bool {
	return slices.ContainsFunc(spans, func(s Span) bool { return s.ID == id })
}

func attributes(list []*common.KeyValue) map[string]string {
	all := make(map[string]string, len(list))
	for _, kv := range list {
		all[kv.GetKey()] = valueText(kv.GetValue())
	}
	return all
}

func valueText(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *common.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *common.AnyValue_ArrayValue:
		var parts []string
		for _, e := range v.ArrayValue.GetValues() {
			parts = append(parts, valueText(e))
		}
		return strings.Join(parts, ",")
	}
	return ""
}
