package host

import (
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/config"
	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// loadConfig reads a config's text.
func loadConfig(t *testing.T, text string, env map[string]string) *config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "molar.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
	cfg, err := config.Load(config.Options{Path: file, Explicit: true, Env: lookup})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// loadModels builds the chain of a config's text.
func loadModels(t *testing.T, text string, env map[string]string) *chain.Chain {
	t.Helper()
	cfg := loadConfig(t, text, env)
	c, err := OpenModels(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOpenModels_AutoTakesWhatHasAKey(t *testing.T) {
	nobody := map[string]string{"HOME": t.TempDir(), "OLLAMA_BASE_URL": "http://127.0.0.1:9"}
	for _, tt := range []struct{ key, provider, model, small string }{
		{"GEMINI_API_KEY", "gemini", "gemini-2.5-flash", "gemini-2.5-flash-lite"},
		{"GOOGLE_API_KEY", "gemini", "gemini-2.5-flash", "gemini-2.5-flash-lite"},
		{"OPENAI_API_KEY", "openai", "gpt-4.1-mini", "gpt-4.1-nano"},
		{"NO_KEY", "offline", "", ""},
	} {
		env := map[string]string{tt.key: "x"}
		maps.Copy(env, nobody)
		route, err := loadModels(t, "", env).Pick(t.Context(), chain.Want{})
		if err != nil || route.Provider.Name() != tt.provider || route.Model != tt.model || route.SmallModel != tt.small {
			t.Errorf("%s: %+v, %v", tt.key, route, err)
		}
	}
}

// A server of one's own that speaks OpenAI's API is asked which models it has, and
// needs no key.
func TestOpenModels_ALocalServerWithoutAKey(t *testing.T) {
	var auth string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"id":"local-model"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello."},"finish_reason":null}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c := loadModels(t, `llm: {openai: {base_url: "`+server.URL+`/v1"}}`, map[string]string{"HOME": t.TempDir()})
	route, err := c.Pick(t.Context(), chain.Want{})
	if err != nil || route.Model != "local-model" || route.SmallModel != "local-model" || !strings.Contains(route.Why, "has no gpt-4.1-mini") {
		t.Fatalf("%+v, %v", route, err)
	}
	var text string
	hello := []schemas.Message{schemas.Text(schemas.RoleUser, "Hello")}
	for chunk, err := range route.Provider.Stream(t.Context(), providers.Request{Pass: providers.PassAnswer, Model: route.Model, Messages: hello}) {
		if err != nil {
			t.Fatal(err)
		}
		text += chunk.Text
	}
	if text != "Hello." || auth != "" {
		t.Errorf("text %q, authorization %q", text, auth)
	}
}

// Another server with OpenAI's API is asked for its models whether it wants a key or not. It
// is sent the key that the file names for it, and never the one that was made for OpenAI.
func TestOpenModels_AnotherServerWithAKey(t *testing.T) {
	var asked int
	var auth string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, auth = asked+1, r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"data":[{"id":"able-model"},{"id":"tiny-model"}]}`)
	}))
	t.Cleanup(server.Close)
	env := map[string]string{"HOME": t.TempDir(), "OPENAI_API_KEY": "sk-openai", "MINE": "mk"}
	for _, c := range []struct{ more, model, fault, auth string }{
		{"", "able-model", "", ""},
		{", key: '${MINE}'", "able-model", "", "Bearer mk"},
		{", key: '${OPENAI_API_KEY}', model: tiny-model", "tiny-model", "", "Bearer sk-openai"},
		{", key: '${MINE}', model: tiny-models", "", "did you mean tiny-model? (it has: able-model, tiny-model)", "Bearer mk"},
		{", model: tiny-models", "", "did you mean tiny-model?", ""},
	} {
		asked, auth = 0, ""
		text := `llm: {openai: {base_url: "` + server.URL + `/v1"` + c.more + `}}`
		route, err := loadModels(t, text, env).Pick(t.Context(), chain.Want{})
		if route.Model != c.model || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %+v, %v", c.more, route, err)
		}
		if asked != 1 || auth != c.auth {
			t.Errorf("%s: asked %d times, authorization %q; want %q", c.more, asked, auth, c.auth)
		}
		if c.fault == "" {
			continue
		}
		if err := CheckModels(t.Context(), loadConfig(t, text, env)); err == nil || !strings.Contains(err.Error(), "llm.openai.model: ") {
			t.Errorf("%s: the check says %v", c.more, err)
		}
	}
}

// ollamaWith is a server of Ollama's that has these models.
func ollamaWith(t *testing.T, names ...string) string {
	t.Helper()
	var list []string
	for _, name := range names {
		list = append(list, `{"name":"`+name+`","modified_at":"2025-01-01T00:00:00Z"}`)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"models":[`+strings.Join(list, ",")+`]}`)
	})
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"capabilities":["completion","tools"]}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// A model that is named and not there is an error that names the nearest one and the
// pull; only a built-in default is replaced.
func TestOpenModels_ANamedModelIsNotReplaced(t *testing.T) {
	address := ollamaWith(t, "llama3.2:3b")
	env := map[string]string{"HOME": t.TempDir(), "OLLAMA_BASE_URL": address}
	for _, text := range []string{
		`llm: {provider: ollama, ollama: {model: "llama3.3:3b"}}`,
		`llm: {ollama: {model: "llama3.3:3b"}}`,
		`llm: {provider: ollama, ollama: {small_model: "llama3.3:3b"}}`,
	} {
		_, err := loadModels(t, text, env).Pick(t.Context(), chain.Want{})
		if providers.KindOf(err) != providers.KindModelNotFound || !strings.Contains(err.Error(), "(did you mean llama3.2:3b?)") ||
			!strings.Contains(err.Error(), "ollama pull llama3.3:3b") {
			t.Errorf("%s: %v", text, err)
		}
	}
	route, err := loadModels(t, `llm: {provider: ollama}`, env).Pick(t.Context(), chain.Want{})
	if err != nil || route.Model != "llama3.2:3b" || route.SmallModel != "llama3.2:3b" {
		t.Errorf("the default: %+v, %v", route, err)
	}
}

func TestCheckModels(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir(), "OLLAMA_BASE_URL": ollamaWith(t, "llama3.2:3b")}
	for text, want := range map[string]string{
		`llm: {provider: ollama, ollama: {model: "nope:7b"}}`:                                 "llm.ollama.model: ollama model nope:7b",
		"llm: {provider: ollama}\nassistants: {a: {model: \"lama3.2:3b\"}}":                   "assistants.a.model: ollama model lama3.2:3b: not pulled: run: ollama pull lama3.2:3b (did you mean llama3.2:3b?)",
		`llm: {provider: ollama, ollama: {model: "llama3.2:3b"}}`:                             "",
		`llm: {provider: ollama}`:                                                             "",
		`llm: {provider: ollama, ollama: {model: "nope:7b", base_url: "http://127.0.0.1:9"}}`: "",
	} {
		vars := maps.Clone(env)
		if strings.Contains(text, "base_url") {
			delete(vars, "OLLAMA_BASE_URL")
		}
		if err := CheckModels(t.Context(), loadConfig(t, text, vars)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
