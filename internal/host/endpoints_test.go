package host

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// A vault is a server of any wire that keeps what its requests carry.
type vault struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // the headers of all requests, and their query
}

// newVault serves answer to every request.
func newVault(t *testing.T, answer http.HandlerFunc) *vault {
	t.Helper()
	v := &vault{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		v.seen = append(v.seen, fmt.Sprint(r.Header, r.URL.RawQuery))
		v.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(v.Close)
	return v
}

// got returns which of the keys its requests carried, and how many requests there were.
func (v *vault) got(keys ...string) (carried []string, requests int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, key := range keys {
		if strings.Contains(strings.Join(v.seen, "\n"), key) {
			carried = append(carried, key)
		}
	}
	return carried, len(v.seen)
}

func refuse(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "no", http.StatusInternalServerError)
}

// A key is sent to the endpoint that names it and to no other: not to one of the same wire, not to one
// without a key, and not to where a redirect leads.
func TestOpenModels_AKeyStaysAtItsEndpoint(t *testing.T) {
	t.Parallel()
	const envOpenAI, envGemini, a, b, g = "sk-of-openai", "AIza-of-google", "key-of-a-endpoint", "key-of-b-endpoint", "key-of-g-endpoint"
	keys := []string{envOpenAI, envGemini, a, b, g}
	last := newVault(t, refuse)
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, last.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}
	of := map[string]*vault{"a": newVault(t, redirect), "b": newVault(t, refuse), "keyless": newVault(t, refuse), "g": newVault(t, redirect), "home": newVault(t, redirect)}
	cfg := loadConfig(t, fmt.Sprintf(`
llm:
  providers:
    a: {api: openai, base_url: "%s/v1", key: "${A}", model: m}
    b: {api: openai, base_url: "%s/v1", key: "${B}", model: m}
    keyless: {api: openai, base_url: "%s/v1", model: m}
    g: {api: gemini, base_url: "%s", key: "${G}", model: m}
    home: {api: ollama, base_url: "%s", model: m}
`, of["a"].URL, of["b"].URL, of["keyless"].URL, of["g"].URL, of["home"].URL),
		map[string]string{"HOME": t.TempDir(), "OPENAI_API_KEY": envOpenAI, "GEMINI_API_KEY": envGemini, "A": a, "B": b, "G": g})
	client := &http.Client{} // follows redirects, unlike the adapters
	for name, want := range map[string][]string{"a": {a}, "b": {b}, "keyless": nil, "g": {g}, "home": nil} {
		e, _ := cfg.LLM.Endpoint(name)
		c, err := openers()[e.Service.Name](opening{cfg, e, client, nil, slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.List(t.Context())
		for _, err := range c.Provider.Stream(t.Context(), providers.Request{Pass: providers.PassAnswer, Model: "m", Messages: []schemas.Message{schemas.Text(schemas.RoleUser, "Hi")}}) {
			if err != nil {
				break
			}
		}
		if carried, requests := of[name].got(keys...); !slices.Equal(carried, want) || requests < 2 {
			t.Errorf("%s was sent %v in %d requests, want %v", name, carried, requests, want)
		}
	}
	if carried, requests := last.got(keys...); requests > 0 {
		t.Errorf("a redirect was followed %d times, with %v", requests, carried)
	}
}

// Faults name the endpoint and its setting.
func TestOpenModels_FaultsNameTheEndpoint(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"code":401,"message":"no such key","status":"UNAUTHENTICATED"}}`)
	}))
	t.Cleanup(refusing.Close)
	for api, texts := range map[string][2]string{
		"openai": {"fast", "llm.providers.fast.key"}, "gemini": {"fast", "llm.providers.fast.key"},
	} {
		c := loadModels(t, fmt.Sprintf(`llm: {provider: fast, providers: {fast: {api: %s, base_url: %q, key: "${FAST}", model: m}}}`, api, refusing.URL), map[string]string{"HOME": t.TempDir(), "FAST": "fk"})
		route, err := c.Pick(t.Context(), chain.Want{})
		if err == nil {
			for _, err = range route.Provider.Stream(t.Context(), providers.Request{Pass: providers.PassAnswer, Model: "m", Messages: []schemas.Message{schemas.Text(schemas.RoleUser, "Hi")}}) {
			}
		}
		for _, text := range texts {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v names no %s", api, err, text)
			}
		}
	}
	down := loadModels(t, `llm: {provider: box, providers: {box: {api: ollama, base_url: "http://127.0.0.1:9"}}}`, map[string]string{"HOME": t.TempDir()})
	if _, err := down.Pick(t.Context(), chain.Want{}); err == nil || !strings.Contains(err.Error(), "llm.providers.box.base_url") || !strings.HasPrefix(err.Error(), "box") {
		t.Error(err)
	}
}

// Everything that a check of the models says is about the endpoint that names the model.
func TestCheckModels_OfAnEndpoint(t *testing.T) {
	t.Parallel()
	cfg := loadConfig(t, `llm: {provider: box, providers: {box: {api: ollama, base_url: "`+ollamaWith(t, "llama3.2:3b")+`", model: "lama3.2:3b"}}}`, map[string]string{"HOME": t.TempDir()})
	if err := CheckModels(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "llm.providers.box.model: box model lama3.2:3b: not pulled") {
		t.Error(err)
	}
}

// The secrets of all endpoints are kept out of tapes.
func TestRedactor_Endpoints(t *testing.T) {
	t.Parallel()
	cfg := loadConfig(t, `llm: {providers: {a: {api: openai, key: "${A}"}}}`, map[string]string{"HOME": t.TempDir(), "A": "secret-of-a"})
	if out := Redactor(cfg).Text("the secret-of-a"); strings.Contains(out, "secret-of-a") {
		t.Error(out)
	}
}
