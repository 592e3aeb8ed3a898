package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molar/internal/telemetry"
	"molar/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, cfg telemetry.Config) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Close(); err != nil {
			t.Error(err)
		}
	})
	return tel
}

// scrape returns the lines of the metrics that begin with molar_, without buckets.
func scrape(t testing.TB, tel *telemetry.Telemetry) string {
	t.Helper()
	w := httptest.NewRecorder()
	tel.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	var kept []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "molar_") && !strings.Contains(line, "_bucket{") && !regexp.MustCompile(`_sum[ {]`).MatchString(line) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestMetrics(t *testing.T) {
	tel := open(t, telemetry.Config{
		Metrics: true, Models: []string{"qwen"},
		Servers: func() []schemas.ServerStatus {
			return []schemas.ServerStatus{{Name: "family", State: schemas.StateReady, Tools: 2}, {Name: "x", State: schemas.StateFailed}}
		},
		TracesDropped: func() int64 { return 3 },
	})
	countOne(t.Context(), tel)
	want := `molar_budget_used_ratio{budget="all"} 0.5
molar_cost_total{model="qwen",provider="ollama"} 0.5
molar_guardrail_verdicts_total{by="code",topic="dental",verdict="reject"} 1
molar_http_request_duration_seconds_count{route="/v1/models/:id"} 1
molar_http_requests_total{method="GET",route="/v1/models/:id",status="404"} 1
molar_model_call_duration_seconds_count{model="qwen",provider="ollama"} 1
molar_model_calls_total{model="qwen",outcome="quota",pass="tool",provider="ollama"} 1
molar_model_first_output_seconds_count{model="qwen",provider="ollama"} 1
molar_open_streams 1
molar_server_ready{server="family"} 1
molar_server_ready{server="x"} 0
molar_server_reconnects_total{server="family"} 1
molar_server_tools{server="family"} 2
molar_server_tools{server="x"} 0
molar_step_duration_seconds_count{step="search"} 1
molar_token_parts_total{part="cached",provider="ollama"} 5
molar_token_parts_total{part="reasoning",provider="ollama"} 1
molar_tokens_total{assistant="dental",direction="input",model="qwen",provider="ollama"} 7
molar_tokens_total{assistant="dental",direction="output",model="qwen",provider="ollama"} 2
molar_tool_call_duration_seconds_count{server="family"} 1
molar_tool_calls_total{server="family",status="ok",tool="search"} 1
molar_traces_dropped_total 3
molar_truncations_total{what="answer"} 1
molar_turn_duration_seconds_count{assistant="dental"} 1
molar_turns_total{assistant="dental",outcome="done"} 1
molar_turns_unsaved_total{assistant="dental"} 1
molar_visitors_refused_total{limit="visitor"} 1
molar_webhook_events_total{outcome="delivered"} 1
`
	if diff := cmp.Diff(want, scrape(t, tel)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// countOne counts one of everything.
func countOne(ctx context.Context, tel *telemetry.Telemetry) {
	tel.CountTurn(telemetry.Turn{Assistant: "dental", Unsaved: true, Outcome: "done", Took: time.Second})
	tel.CountStep("search", time.Second)
	tel.CountVerdict("dental", "reject", "code")
	tel.CountTruncation(telemetry.CutAnswer)
	tel.CountReconnect("family")
	tel.BudgetUsed("all", 0.5)
	tel.CountWebhook("delivered")
	tel.CountRefusedVisitor("visitor")
	tel.CountCall(telemetry.Call{ID: "1", Server: "family", Tool: "search", Status: "ok", DurationMS: 1})
	_, span := tel.StartModelCall(ctx, telemetry.ModelCall{Provider: "ollama", Assistant: "dental", Model: "qwen", Pass: "tool"})
	span.FirstOutput()
	span.End(telemetry.ModelEnd{Usage: schemas.Usage{PromptTokens: 7, CompletionTokens: 2, CachedTokens: 5, ReasoningTokens: 1, Cost: schemas.NewCost(0.5)}, Kind: "quota", Err: errors.New("x")})
	_, request := tel.StartRequest(httptest.NewRequest("GET", "/v1/models/none", nil), "/v1/models/:id", "r1")
	request.End(404)
	tel.OpenStream()()
	tel.OpenStream()
}

// The list names every metric with its labels.
func TestMetrics_AreListed(t *testing.T) {
	tel := open(t, telemetry.Config{
		Metrics: true, TracesDropped: func() int64 { return 0 }, SummariesBehind: func() int64 { return 0 },
		Servers: func() []schemas.ServerStatus { return []schemas.ServerStatus{{Name: "a"}} },
	})
	countOne(t.Context(), tel)
	label := regexp.MustCompile(`(\w+)="`)
	found := map[string]bool{}
	for line := range strings.Lines(scrape(t, tel)) {
		name, rest, _ := strings.Cut(line, " ")
		name, labels, _ := strings.Cut(name, "{")
		var names []string
		for _, m := range label.FindAllStringSubmatch(labels+rest, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		found[strings.TrimSuffix(name, "_count")+" "+strings.Join(names, " ")] = true
	}
	listed := map[string]bool{}
	for _, m := range telemetry.List() {
		listed[m.Name+" "+strings.Join(slices.Sorted(slices.Values(m.Labels)), " ")] = true
	}
	if diff := cmp.Diff(found, listed); diff != "" {
		t.Errorf("what is shown is not what is listed, and with that in the reference (-shown +listed):\n%s", diff)
	}
}

// What clients and models make up becomes no label, however much of it there is.
func TestMetrics_LabelsAreBounded(t *testing.T) {
	tel := open(t, telemetry.Config{Metrics: true, Models: []string{"qwen"}})
	for i := range 5000 {
		made := fmt.Sprint("made-up-", i)
		_, span := tel.StartModelCall(t.Context(), telemetry.ModelCall{Provider: "ollama", Model: made, Pass: "answer", ClientModel: true})
		span.End(telemetry.ModelEnd{})
		_, span = tel.StartModelCall(t.Context(), telemetry.ModelCall{Provider: "ollama", Model: "pulled-" + made, Pass: "answer"})
		span.End(telemetry.ModelEnd{})
		tel.CountCall(telemetry.Call{Tool: made, Status: "unknown_tool"})
		tel.CountCall(telemetry.Call{Server: "flood", Tool: made, Status: "ok"})
	}
	_, span := tel.StartModelCall(t.Context(), telemetry.ModelCall{Provider: "ollama", Model: "qwen", Pass: "answer", ClientModel: true})
	span.End(telemetry.ModelEnd{})
	text := scrape(t, tel)
	lines := strings.Count(text, "\n")
	if lines > 1300 || strings.Contains(text, `model="made-up-`) {
		t.Errorf("%d lines of metrics; a client's model is a label: %v", lines, strings.Contains(text, `model="made-up-`))
	}
	for _, want := range []string{`model="qwen"`, `model="other"`, `tool="other"`, `server="none",status="unknown_tool",tool="unknown"} 5000`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

func TestCalls_KeepsTheLast(t *testing.T) {
	tel := open(t, telemetry.Config{})
	for i := range 1203 {
		tel.CountCall(telemetry.Call{ID: fmt.Sprint(i), Error: strings.Repeat("ă", 400)})
	}
	calls := tel.Calls()
	if len(calls) != 500 || calls[0].ID != "1202" || calls[499].ID != "703" {
		t.Errorf("%d calls, from %s to %s", len(calls), calls[0].ID, calls[len(calls)-1].ID)
	}
	if e := calls[0].Error; len(e) > 510 || strings.ContainsRune(e, '\uFFFD') {
		t.Errorf("an error of %d bytes: %q", len(e), e)
	}
}

func TestNil_DoesNothing(t *testing.T) {
	var tel *telemetry.Telemetry
	ctx := t.Context()
	countOne(ctx, tel)
	for _, tel := range []*telemetry.Telemetry{nil, open(t, telemetry.Config{})} {
		if _, span := tel.StartTurn(ctx, "t", "a"); span != nil {
			t.Error("a span although nothing is exported")
		}
		_, rpc := tel.StartRPC(ctx, telemetry.RPC{})
		rpc.End(0, false, nil)
		_, tool := tel.StartTool(ctx, "s", "t", nil)
		tool.End(schemas.ToolResult{}, nil)
		if tel.Metrics() != nil || tel.Tracing() || tel.Close() != nil {
			t.Error("metrics or traces are on")
		}
	}
}

// BenchmarkOff measures the spans of a turn when nothing is exported.
func BenchmarkOff(b *testing.B) {
	tel := open(b, telemetry.Config{})
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		ctx, turn := tel.StartTurn(ctx, "t", "a")
		ctx, model := tel.StartModelCall(ctx, telemetry.ModelCall{Provider: "p", Model: "m"})
		ctx, tool := tel.StartTool(ctx, "s", "t", nil)
		_ = telemetry.Meta(ctx)
		tool.End(schemas.ToolResult{}, nil)
		model.End(telemetry.ModelEnd{})
		turn.End(telemetry.TurnEnd{})
	}
}

// BenchmarkMetrics measures the counting of a turn with one tool call.
func BenchmarkMetrics(b *testing.B) {
	tel := open(b, telemetry.Config{Metrics: true, Models: []string{"m"}})
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		for range 2 {
			_, model := tel.StartModelCall(ctx, telemetry.ModelCall{Provider: "p", Model: "m", Pass: "tool"})
			model.FirstOutput()
			model.End(telemetry.ModelEnd{})
		}
		tel.CountCall(telemetry.Call{Server: "s", Tool: "t", Status: "ok"})
		tel.CountStep("answer", time.Second)
		tel.CountVerdict("dental", "pass", "code")
		tel.CountTurn(telemetry.Turn{Assistant: "a", Outcome: "done"})
		tel.OpenStream()()
	}
}
