package main

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molar/internal/cli"
	"molar/internal/telemetry"
	"molar/internal/testkit/models"
	"molar/internal/testkit/otlpsink"
	"molar/internal/testkit/stubmcp"
	"molar/schemas"
)

var updateDocs = flag.Bool("update-trace", false, "write the trace into docs/operations.md")

// One question with one tool call, as an OTLP collector receives it: one trace, which continues
// the client's trace and is passed on to the MCP server. The docs show it.
func TestServe_Traces(t *testing.T) {
	before := goleak.IgnoreCurrent()
	sink := otlpsink.Start()
	t.Cleanup(sink.Close)
	model := startModel(t, models.Config{Tool: stubmcp.ToolName, Args: []byte(`{"family_id":"1a955fff"}`)})
	_, url := stubServer(t, stubmcp.Config{})
	env := homeEnv(t, model)
	env["OTEL_EXPORTER_OTLP_ENDPOINT"] = sink.URL
	s := serveIn(t, env, stubConfig(t, url, ""))
	s.stdout.wait(t, "server: stub ready", nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/chat/completions",
		strings.NewReader(questionBody("agentic", "traced", "Who is in the family with the secret name?", false)))
	if err != nil {
		t.Fatal(err)
	}
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if code := s.stop(); code != cli.OK || res.StatusCode != http.StatusOK {
		t.Fatalf("exit code %d, status %d", code, res.StatusCode)
	}
	tree := sink.Tree(trace, "http.response.status_code", "gen_ai.provider.name", "molar.turn.outcome", "molar.pass",
		"gen_ai.usage.input_tokens", "gen_ai.response.finish_reasons", "molar.mcp.server", "network.transport")
	for _, span := range sink.Spans() {
		for name, value := range span.Attributes {
			if strings.Contains(value, "secret name") {
				t.Errorf("span %s holds the question in %s", span.Name, name)
			}
		}
	}
	checkDocumentedTrace(t, tree)
	sink.Close()
	_ = model.Close()
	s.client.CloseIdleConnections()
	goleak.VerifyNone(t, before, goleak.IgnoreTopFunction("net/http/httptest.(*Server).goServe.func1"), goleak.IgnoreAnyFunction("net/http.(*conn).serve"), goleak.IgnoreAnyFunction("net/http.(*Server).Serve"))
}

// checkDocumentedTrace compares a trace with the one that docs/operations.md shows.
func checkDocumentedTrace(t *testing.T, tree string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", "operations.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)(<!-- trace: [^\n]*-->\n```text\n)(.*?)(```)")
	if *updateDocs {
		text = block.ReplaceAll(text, []byte("${1}"+strings.ReplaceAll(tree, "$", "$$")+"${3}"))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shown := block.FindSubmatch(text)
	if shown == nil {
		t.Fatal("docs/operations.md shows no trace")
	}
	if diff := cmp.Diff(string(shown[2]), tree); diff != "" {
		t.Errorf("the trace is not the one in docs/operations.md; run this test with -update-trace (-docs +got):\n%s", diff)
	}
}

// What a turn did is counted, and its calls are listed.
func TestServe_MetricsAndCalls(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: stubmcp.ToolName, Args: []byte(`{"family_id":"1a955fff"}`)})
	_, url := stubServer(t, stubmcp.Config{})
	s := serveHost(t, stubConfig(t, url, ""), model)
	s.stdout.wait(t, "server: stub ready", nil)
	a := s.ask(t, "agentic", "", "Who is in the family?")
	status, body := s.do(t, http.MethodPost, "/v1/chat/completions", questionBody("made-up", "", "x", false))
	if status != http.StatusNotFound {
		t.Errorf("an unknown assistant: %d %s", status, body)
	}
	_, metrics := s.do(t, http.MethodGet, "/metrics", "")
	for _, want := range []string{
		`molar_turns_total{assistant="agentic",outcome="done"} 1`,
		`molar_turns_total{assistant="unknown",outcome="failed"} 1`,
		`molar_model_calls_total{model="qwen2.5:7b-instruct",outcome="ok",pass="tool",provider="ollama"} 1`,
		`molar_model_calls_total{model="qwen2.5:7b-instruct",outcome="ok",pass="answer",provider="ollama"} 1`,
		`molar_tool_calls_total{server="stub",status="ok",tool="` + stubmcp.ToolName + `"} 1`,
		`molar_step_duration_seconds_count{step="memory"} 1`,
		`molar_server_ready{server="stub"} 1`,
		`molar_http_requests_total{method="POST",route="/v1/chat/completions",status="404"} 1`,
		"molar_open_streams 0\n", "molar_traces_dropped_total 0\n", "go_goroutines ",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(metrics, "made-up") {
		t.Error("what a client made up is in the metrics")
	}
	var calls struct{ Data []telemetry.Call }
	s.get(t, "/v1/calls?turn="+a.molar.TurnID, &calls)
	if len(calls.Data) != 1 || calls.Data[0].Server != "stub" || calls.Data[0].Tool != stubmcp.ToolName || calls.Data[0].Status != "ok" {
		t.Errorf("calls %+v", calls.Data)
	}
}

// A tool whose policy is deny stays out of reach, also for an operator.
func TestServe_DenyIsDeny(t *testing.T) {
	t.Parallel()
	stub, url := stubServer(t, stubmcp.Config{})
	s := serveHost(t, stubConfig(t, url, `, tools: {"*": {policy: deny}}`), nil)
	s.stdout.wait(t, "server: stub ready", nil)
	path := "/v1/tools/stub__" + stubmcp.ToolName
	if status, body := s.do(t, http.MethodPatch, path, `{"enabled":true}`); status != http.StatusOK || !strings.Contains(body, `"withheld":"its policy is deny"`) {
		t.Errorf("a switch allowed what the config denies: %d %s", status, body)
	}
	if status, body := s.do(t, http.MethodPost, path+"/call", `{"arguments":{"family_id":"x"}}`); status != http.StatusForbidden || stub.Calls() != 0 {
		t.Errorf("a denied tool was called %d times: %d %s", stub.Calls(), status, body)
	}
}

func TestServe_ProviderTest(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Script: func(models.Request) *models.Reply { return models.Text("ok") }})
	s := serveHost(t, writeFile(t, "molar.yaml", "llm: {provider: ollama}\nmemory: {store: ./molar.db}\n"), model)
	for name, want := range map[string]string{
		"ollama":  `"ok":true,"text":"ok"`,
		"offline": `"ok":true`,
		"gemini":  `"ok":false`,
	} {
		status, body := s.do(t, http.MethodPost, "/v1/providers/"+name+"/test", "")
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s in it", name, status, body, want)
		}
	}
	if status, body := s.do(t, http.MethodPost, "/v1/providers/none/test", ""); status != http.StatusNotFound {
		t.Errorf("an unknown provider: %d %s", status, body)
	}
	var servers struct{ Data []schemas.ServerStatus }
	s.get(t, "/v1/servers", &servers)
	if len(servers.Data) != 2 {
		t.Errorf("servers %+v", servers.Data)
	}
}
