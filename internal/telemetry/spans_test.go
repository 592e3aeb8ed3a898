package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/telemetry"
	"molar/internal/testkit/otlpsink"
	"molar/schemas"
)

func env(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

const inbound = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// record makes the spans of a turn with one tool call and returns what reached the
// collector. arrived are the headers that a server over HTTP would have seen.
func record(t *testing.T, vars map[string]string) (sink *otlpsink.Sink, arrived http.Header, meta map[string]string) {
	t.Helper()
	sink = otlpsink.Start()
	t.Cleanup(sink.Close)
	vars["OTEL_EXPORTER_OTLP_ENDPOINT"] = sink.URL + "/"
	tel, err := telemetry.New(t.Context(), telemetry.Config{
		Version: "1.2.3", Env: env(vars),
		ProviderName: func(name string) string { return map[string]string{"gemini": "gcp.gemini"}[name] },
	})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/v1/chat/completions", nil)
	r.Header.Set("Traceparent", inbound)
	ctx, request := tel.StartRequest(r, "/v1/chat/completions", "r1")
	ctx, turn := tel.StartTurn(ctx, "t1", "general")
	mctx, model := tel.StartModelCall(ctx, telemetry.ModelCall{
		Provider: "gemini", Model: "flash", Pass: "tool", MaxTokens: 9, Temperature: new(0.5), System: "be secret",
		Messages: []schemas.Message{schemas.Text(schemas.RoleUser, "a private question")},
	})
	_ = mctx
	model.FirstOutput()
	model.End(telemetry.ModelEnd{Usage: schemas.Usage{PromptTokens: 7, CompletionTokens: 2}, Finish: "tool_calls", Output: outputIf(tel, "a private answer")})
	tctx, tool := tel.StartTool(ctx, "family", "search", json.RawMessage(`{"query":"a private argument"}`))
	rctx, rpc := tel.StartRPC(tctx, telemetry.RPC{Server: "family", Method: "tools/call", Tool: "search", Transport: "http", Protocol: "2025-11-25"})
	arrived, meta = http.Header{}, telemetry.Meta(rctx)
	telemetry.Inject(rctx, arrived)
	rpc.End(0, true, nil)
	tool.End(schemas.ToolResult{IsError: true, Output: json.RawMessage(`"a private result"`)}, nil)
	_, failed := tel.StartRPC(ctx, telemetry.RPC{Server: "m", Method: "memory/save_turn", Transport: "in-process"})
	failed.End(-32602, false, errors.New("a private error"))
	turn.End(telemetry.TurnEnd{Conversation: "c1", Provider: "gemini", Model: "flash", Outcome: "failed", InputTokens: 7, OutToken: 2, Kind: "unavailable", Err: errors.New("a private fault")})
	request.End(503)
	if err := tel.Close(); err != nil {
		t.Fatal(err)
	}
	return sink, arrived, meta
}

func outputIf(tel *telemetry.Telemetry, text string) string {
	if tel.CapturesText() {
		return text
	}
	return ""
}

func TestSpans(t *testing.T) {
	sink, arrived, meta := record(t, map[string]string{
		"OTEL_SERVICE_NAME": "my-molar", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=a%20b,service.name=lost",
		"OTEL_EXPORTER_OTLP_HEADERS": "api-key=k%3D1",
	})
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	got := sink.Tree(trace, "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.agent.name", "gen_ai.conversation.id",
		"gen_ai.request.model", "gen_ai.usage.input_tokens", "gen_ai.response.finish_reasons", "gen_ai.tool.name", "mcp.method.name",
		"mcp.protocol.version", "rpc.response.status_code", "network.transport", "http.route", "http.response.status_code", "error.type")
	want := `POST /v1/chat/completions [server] http.route=/v1/chat/completions http.response.status_code=503 error.type=Service Unavailable error: Service Unavailable
  invoke_agent general [internal] gen_ai.operation.name=invoke_agent gen_ai.provider.name=gcp.gemini gen_ai.agent.name=general gen_ai.conversation.id=c1 gen_ai.request.model=flash gen_ai.usage.input_tokens=7 error.type=unavailable error: unavailable
    chat flash [client] gen_ai.operation.name=chat gen_ai.provider.name=gcp.gemini gen_ai.request.model=flash gen_ai.usage.input_tokens=7 gen_ai.response.finish_reasons=tool_calls
    execute_tool search [internal] gen_ai.operation.name=execute_tool gen_ai.tool.name=search error.type=tool_error error: tool_error
      tools/call search [client] gen_ai.operation.name=execute_tool gen_ai.tool.name=search mcp.method.name=tools/call mcp.protocol.version=2025-11-25 network.transport=tcp error.type=tool_error error: tool_error
    memory/save_turn [client] mcp.method.name=memory/save_turn rpc.response.status_code=-32602 error.type=-32602 error: -32602
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if r := sink.Resource(); r["service.name"] != "my-molar" || r["service.version"] != "1.2.3" || r["deployment.environment.name"] != "a b" {
		t.Errorf("resource %v", r)
	}
	if key := sink.Headers().Get("Api-Key"); key != "k=1" {
		t.Errorf("the collector got the key %q", key)
	}
	spans := sink.Spans()
	if spans[0].Parent != "00f067aa0ba902b7" {
		t.Errorf("the request's span is below %q, not the caller's", spans[0].Parent)
	}
	wire := arrived.Get("Traceparent")
	if !strings.HasPrefix(wire, "00-"+trace+"-") || meta["traceparent"] != wire {
		t.Errorf("the server saw the header %q and the field %q", wire, meta["traceparent"])
	}
	for _, s := range spans {
		for name, value := range s.Attributes {
			if strings.Contains(value, "private") || strings.Contains(value, "secret") {
				t.Errorf("span %s holds %s=%q", s.Name, name, value)
			}
		}
	}
}

func TestSpans_CaptureTextWhenAsked(t *testing.T) {
	sink, _, _ := record(t, map[string]string{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"})
	held := map[string]string{}
	for _, s := range sink.Spans() {
		for name, value := range s.Attributes {
			held[name] += value
		}
	}
	for name, want := range map[string]string{
		"gen_ai.input.messages": "a private question", "gen_ai.output.messages": "a private answer", "gen_ai.system_instructions": "be secret",
		"gen_ai.tool.call.arguments": "a private argument", "gen_ai.tool.call.result": "a private result",
	} {
		if !strings.Contains(held[name], want) {
			t.Errorf("%s is %q, want %q in it", name, held[name], want)
		}
	}
}

func TestNew_OTLPSettings(t *testing.T) {
	const endpoint = "http://127.0.0.1:1"
	for _, tt := range []struct {
		name string
		vars map[string]string
		on   bool
		err  string
	}{
		{"nothing set", nil, false, ""},
		{"endpoint", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, true, ""},
		{"traces endpoint", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint + "/t"}, true, ""},
		{"disabled", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SDK_DISABLED": "true"}, false, ""},
		{"no exporter", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		{"grpc", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "http/protobuf"},
		{"bad address", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:4318"}, false, "want an address"},
		{"bad headers", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_HEADERS": "secret"}, false, "NAME=value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tel, err := telemetry.New(t.Context(), telemetry.Config{Env: env(tt.vars)})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "secret") {
					t.Errorf("error %v, want %q in it", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tel.Tracing() != tt.on {
				t.Errorf("tracing %v, want %v", tel.Tracing(), tt.on)
			}
			_ = tel.Close()
		})
	}
}

// A collector that is down, or hangs, must not hold the host's end up.
func TestClose_IsBounded(t *testing.T) {
	sink := otlpsink.Start()
	defer sink.Close()
	sink.Answer(http.StatusServiceUnavailable) // the exporter would try again for a minute
	tel, err := telemetry.New(context.Background(), telemetry.Config{
		Flush: 50 * time.Millisecond, Env: env(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": sink.URL}),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, turn := tel.StartTurn(t.Context(), "t", "a")
	turn.End(telemetry.TurnEnd{})
	began := time.Now()
	if err := tel.Close(); err == nil {
		t.Error("spans were lost without a word")
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("closing took %v", took)
	}
}
