package main

import (
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"molar/internal/config"
	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// loadModels builds the chain of a config's text.
func loadModels(t *testing.T, text string, env map[string]string) *chain.Chain {
	t.Helper()
	cfg, err := config.Load(config.Options{Path: writeFile(t, "molar.yaml", text), Explicit: true, Env: lookup(env)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := openModels(cfg, slog.New(slog.DiscardHandler))
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

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		ids          string
		model, small string
	}{
		{"big small", "big", "small"},
		{"other big", "big", "big"},
		{"other small", "other", "small"},
		{"other", "other", "other"},
		{"", "big", "small"},
	} {
		if model, small, _ := fit(strings.Fields(tt.ids), "big", "small"); model != tt.model || small != tt.small {
			t.Errorf("%q: %s, %s", tt.ids, model, small)
		}
	}
}
