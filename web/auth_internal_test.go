package web

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/httpguard"
	"molar/internal/telemetry"
	"molar/schemas"
)

// empty implements every interface of the config without data.
type empty struct{}

func (empty) Run(context.Context, agent.Turn) iter.Seq2[answer.Event, error] {
	return func(func(answer.Event, error) bool) {}
}

func (empty) List(context.Context, string, string, int, string) ([]schemas.Conversation, string, error) {
	return nil, "", nil
}

func (empty) Messages(context.Context, string, string) ([]schemas.StoredMessage, string, bool, error) {
	return nil, "", false, nil
}

func (empty) Branch(context.Context, string, string, string) ([]schemas.StoredMessage, error) {
	return nil, nil
}

func (empty) Tree(context.Context, string, string) ([]schemas.StoredMessage, error) { return nil, nil }

func (empty) Rename(context.Context, string, string, string) error { return agent.ErrNotFound }
func (empty) Clear(context.Context, string, string) error          { return agent.ErrNotFound }
func (empty) Delete(context.Context, string, string) error         { return agent.ErrNotFound }
func (empty) Tools() []schemas.Tool                                { return nil }
func (empty) Status() []schemas.ServerStatus                       { return nil }
func (empty) Trace(context.Context, string, string) (json.RawMessage, bool, error) {
	return nil, false, nil
}

// keyedServer returns a server with one key for each scope, named after the scope.
func keyedServer(t *testing.T, change func(*Config)) (http.Handler, *gin.Engine) {
	t.Helper()
	ring := httpguard.NewKeyring(nil)
	var keys []httpguard.Key
	for _, scope := range httpguard.Scopes() {
		keys = append(keys, httpguard.Key{ID: "k_" + scope, Owner: "k_" + scope, Hash: httpguard.HashOf(scope), Scopes: []string{scope}})
	}
	ring.Set(keys)
	cfg := Config{
		Agent: empty{}, Models: func() []schemas.AssistantInfo { return nil }, Conversations: empty{}, Tools: empty{}, Servers: empty{}, Traces: empty{},
		Reload: func(context.Context) (Reloaded, error) { return Reloaded{}, nil },
		Guard:  func(next http.Handler) http.Handler { return next },
		Access: Access{Keys: ring},
	}
	if change != nil {
		change(&cfg)
	}
	handler, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	routes, err := s.routes()
	if err != nil {
		t.Fatal(err)
	}
	return handler, routes.(*gin.Engine)
}

func knock(h http.Handler, method, path, key, from string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	r.RemoteAddr = from
	if key != "" {
		r.Header.Set("X-Api-Key", key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const loopback = "127.0.0.1:1"

// Every route is checked with the scopes that open it, so that a new one is not forgotten: a route
// that is not listed here and changes something must require the scope admin.
func TestRoutes_Scopes(t *testing.T) {
	counting, err := telemetry.New(t.Context(), telemetry.Config{Metrics: true})
	if err != nil {
		t.Fatal(err)
	}
	handler, engine := keyedServer(t, func(c *Config) { c.Telemetry = counting })
	const probe, anyKey = "", "any"
	own := map[string]string{ // routes for the conversations and turns of the key's owner
		"POST /v1/chat/completions": "chat", "POST /chat": "chat",
		"POST /v1/conversations": "chat", "POST /v1/conversations/:id": "chat", "POST /v1/conversations/:id/items": "chat",
		"GET /v1/conversations/:id/items": "chat", "GET /v1/conversations/:id/items/:item": "chat", "DELETE /v1/conversations/:id/items/:item": "chat",
		"GET /v1/responses": "chat", "POST /v1/responses/compact": "chat", "POST /v1/responses/input_tokens": "chat",
		"POST /v1/responses": "chat", "GET /v1/responses/:id": "chat", "DELETE /v1/responses/:id": "chat",
		"POST /v1/responses/:id/cancel": "chat", "GET /v1/responses/:id/input_items": "chat",
		"PATCH /v1/conversations/:id": "chat", "DELETE /v1/conversations/:id": "chat", "POST /v1/conversations/:id/clear": "chat",
		"DELETE /v1/turns/:id": "chat", "POST /v1/approvals/:id": "chat", "POST /v1/questions/:id": "chat",
		"DELETE /v1/grants/:id": "chat",
		"POST /login":           probe, "GET /login": probe, "HEAD /login": probe, "POST /logout": probe, "GET /v1/signin": probe,
		"GET /v1/me":  anyKey,
		"GET /health": probe, "HEAD /health": probe, "GET /ready": probe, "HEAD /ready": probe, "GET /metrics": "metrics",
	}
	for _, route := range engine.Routes() {
		name := route.Method + " " + route.Path
		path := strings.NewReplacer(":id", "x", ":name", "x", "*file", "none.js").Replace(route.Path)
		required, listed := own[name]
		if listed && required == probe {
			if w := knock(handler, route.Method, path, "", loopback); w.Code == http.StatusUnauthorized {
				t.Errorf("%s wants a key", name)
			}
			continue
		}
		if w := knock(handler, route.Method, path, "", loopback); w.Code != http.StatusUnauthorized {
			t.Errorf("%s without a key: %d", name, w.Code)
		}
		for _, scope := range httpguard.Scopes() {
			open := knock(handler, route.Method, path, scope, loopback).Code != http.StatusForbidden
			changes := route.Method != http.MethodGet && route.Method != http.MethodHead
			switch {
			case required == anyKey && !open, listed && required != anyKey && open != (scope == required):
				t.Errorf("%s with scope %s: open %v", name, scope, open)
			case !listed && changes && open != (scope == httpguard.ScopeAdmin):
				t.Errorf("%s, which changes something, with scope %s: open %v", name, scope, open)
			case required == anyKey:
			case !listed && open && scope != httpguard.ScopeChat && scope != httpguard.ScopeAdmin && (scope != httpguard.ScopeReview || !isForReview(route.Path)):
				t.Errorf("%s is open to scope %s", name, scope)
			}
		}
	}
}

// isForReview reports whether the scope review alone opens a route that reads: a page or a file of one,
// which hold nothing of anybody, and turns with their marks.
func isForReview(path string) bool {
	return slices.Contains([]string{"/", "/account", "/desk", "/static/*file", "/turn", "/v1/turns/:id", "/v1/feedback"}, path)
}

func TestAuthenticate_LimitsAddresses(t *testing.T) {
	now := time.Unix(1e9, 0)
	limiter, err := httpguard.NewLimiter(1, 3, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	handler, _ := keyedServer(t, func(c *Config) { c.Access.PerAddress = limiter })
	tests := []struct {
		name, key, from string
		limited         bool
	}{
		{"a key from elsewhere", "chat", "192.0.2.1:1", true},
		{"a wrong key from elsewhere", "wrong", "192.0.2.2:1", true},
		{"a neighbour in one IPv6 network", "chat", "[2001:db8::1]:1", true},
		{"a key from this machine", "chat", loopback, false},
		{"a wrong key from this machine", "wrong", "127.0.0.2:1", true},
	}
	for _, tt := range tests {
		var last *httptest.ResponseRecorder
		for range 4 {
			last = knock(handler, http.MethodGet, "/v1/models", tt.key, tt.from)
		}
		if limited := last.Code == http.StatusTooManyRequests; limited != tt.limited || limited && last.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d, Retry-After %q", tt.name, last.Code, last.Header().Get("Retry-After"))
		}
	}
	if w := knock(handler, http.MethodGet, "/v1/models", "chat", "[2001:db8::ffff]:1"); w.Code != http.StatusTooManyRequests {
		t.Errorf("another address of a limited network: %d", w.Code)
	}
	if w := knock(handler, http.MethodGet, "/health", "", "192.0.2.1:1"); w.Code != http.StatusOK {
		t.Errorf("/health of a limited address: %d", w.Code)
	}
	now = now.Add(time.Second)
	if w := knock(handler, http.MethodGet, "/v1/models", "chat", "192.0.2.1:1"); w.Code != http.StatusOK {
		t.Errorf("a second later: %d", w.Code)
	}
}

func TestSignIn_OverTLS(t *testing.T) {
	clients, err := httpguard.NewAddresses([]string{"192.0.2.9"})
	if err != nil {
		t.Fatal(err)
	}
	handler, _ := keyedServer(t, func(c *Config) {
		c.Access.Clients = clients
		c.Access.SignIn = func(_ context.Context, token string) (string, bool, error) { return "session", token == "t", nil }
	})
	for from, secure := range map[string]bool{loopback: false, "192.0.2.9:1": true} {
		r := httptest.NewRequest(http.MethodGet, "/?token=t", nil)
		r.RemoteAddr = from
		r.Header.Set("X-Forwarded-Proto", "https")
		r.Header.Set("X-Forwarded-For", "127.0.0.1")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		cookie := w.Header().Get("Set-Cookie")
		if w.Code != http.StatusSeeOther || strings.Contains(cookie, "Secure") != secure || strings.HasPrefix(cookie, "__Host-") != secure {
			t.Errorf("from %s: %d %s", from, w.Code, cookie)
		}
	}
	for _, try := range [][2]string{{http.MethodPost, "/?token=t"}, {http.MethodHead, "/?token=t"}, {http.MethodGet, "/v1/models?token=t"}, {http.MethodGet, "/?token="}} {
		if w := knock(handler, try[0], try[1], "", loopback); w.Code != http.StatusUnauthorized {
			t.Errorf("%s %s: %d", try[0], try[1], w.Code)
		}
	}
}
