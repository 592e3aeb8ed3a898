package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"molar/internal/cli"
	"molar/internal/testkit/models"
)

const geminiKey = "a-key-that-nobody-may-see"

// fallbackConfig is a config whose Gemini is at that address.
func fallbackConfig(t *testing.T, family, gemini string) string {
	t.Helper()
	return writeFile(t, "molar.yaml", `
llm: {gemini: {base_url: "`+gemini+`"}}
assistants:
  family: {tools: ["family__*"], flow: two-pass}
mcpServers:
  family: {command: `+family+`}
memory: {store: ./molar.db}
`)
}

// A talk is what "molar chat" leaves behind.
type talk struct {
	code   int
	answer struct {
		Answer   string   `json:"answer"`
		Provider string   `json:"provider"`
		Model    string   `json:"model"`
		Warnings []string `json:"warnings"`
	}
	stdout, stderr string
}

// chatWithKey asks a question with a Gemini key in the environment.
func chatWithKey(t *testing.T, config string, model *models.Server, question string) talk {
	t.Helper()
	env := homeEnv(t, model)
	env["GEMINI_API_KEY"] = geminiKey
	var stdout, stderr bytes.Buffer
	args := []string{"chat", "--config", config, "--log-level", "warn", "--output-format", "json", question}
	got := talk{code: execute(t.Context(), args, lookup(env), strings.NewReader(""), &stdout, &stderr)}
	got.stdout, got.stderr = stdout.String(), stderr.String()
	if strings.Contains(got.stdout+got.stderr, geminiKey) {
		t.Error("the key is in the output")
	}
	if got.stdout != "" {
		if err := json.Unmarshal(stdout.Bytes(), &got.answer); err != nil {
			t.Fatalf("%v in\n%s", err, got.stdout)
		}
	}
	return got
}

// dead is a Gemini that is down for long, so that the adapter does not wait for it;
// asked counts its requests.
func dead(t *testing.T) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func TestFallback_ADeadGeminiIsReplacedByOllama(t *testing.T) {
	long(t, "a dead service is asked again, with waits")
	t.Parallel()
	family, model := buildFamily(t), familyModel(t)
	url, asked := dead(t)
	got := chatWithKey(t, fallbackConfig(t, family, url), model, familyQuestion)
	if got.code != cli.OK || got.answer.Answer != "The family Nguyen has two members." {
		t.Fatalf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if got.answer.Provider != "ollama" || got.answer.Model != "qwen2.5:7b-instruct" {
		t.Errorf("answered by %s, model %s", got.answer.Provider, got.answer.Model)
	}
	const warning = "ollama answers instead: gemini model gemini-2.5-flash: "
	if w := strings.Join(got.answer.Warnings, "\n"); !strings.Contains(w, warning) || !strings.Contains(w, "overloaded") {
		t.Errorf("warnings %q say nothing of %q", w, warning)
	}
	if !strings.Contains(got.stderr, "another provider is asked") {
		t.Errorf("the log says nothing:\n%s", got.stderr)
	}
	// One call of the turn finds Gemini dead; the others do not ask again.
	if n := asked.Load(); n != 1 {
		t.Errorf("gemini got %d requests in one turn", n)
	}
}

// The provider auto never falls back to quoting in the middle of a turn: the turn fails, and the
// person is told why.
func TestFallback_WithoutASubstituteTheTurnFails(t *testing.T) {
	t.Parallel()
	url, _ := dead(t)
	got := chatWithKey(t, fallbackConfig(t, "no-such-program", url), nil, "Hello there")
	if got.code != cli.Failure || !strings.Contains(got.stdout+got.stderr, "overloaded") || !strings.Contains(got.stdout+got.stderr, "connection refused") {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
}

// Once a word of the answer has been shown, no other provider starts anew.
func TestFallback_NeverAfterOutput(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"It was a dark"}]}}]}`+"\r\n\r\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(s.Close)
	model := familyModel(t)
	got := chatWithKey(t, fallbackConfig(t, "no-such-program", s.URL), model, "Tell me a story")
	if got.code != cli.Failure || !strings.Contains(got.stdout+got.stderr, "gemini") {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if calls := asked(model); len(calls) > 0 {
		t.Errorf("ollama was asked too: %+v", calls)
	}
}
