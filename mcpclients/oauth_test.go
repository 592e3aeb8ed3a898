package mcpclients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"molar/internal/testkit/oauthserver"
	"molar/mcpclients"
	"molar/mcpclients/oauth"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// logins stores logins in memory; leases are always granted.
type logins struct {
	mu     sync.Mutex
	states map[string]json.RawMessage
	serial int64
}

func (l *logins) GetLogin(_ context.Context, server string) (json.RawMessage, int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.states[server] == nil {
		return nil, 0, nil
	}
	return l.states[server], l.serial, nil
}

func (l *logins) SwapLogin(_ context.Context, server string, _ int64, state json.RawMessage) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serial++
	if l.states == nil {
		l.states = map[string]json.RawMessage{}
	}
	l.states[server] = state
	return true, nil
}

func (l *logins) LeaseLogin(context.Context, string, int64, time.Duration) (bool, error) {
	return true, nil
}

// logIn logs in as a person would, and stores the login.
func logIn(t *testing.T, store oauth.Store, cfg transport.ServerConfig) {
	t.Helper()
	c, err := oauth.NewClient(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	before, _, err := oauth.Get(t.Context(), store, cfg.LoginServer())
	if err != nil {
		t.Fatal(err)
	}
	login, err := c.Begin(t.Context(), cfg.LoginServer(), "http://127.0.0.1:1/callback", before)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer browser.CloseIdleConnections()
	resp, err := browser.Get(login.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	grant, err := login.Finish(t.Context(), back.Query())
	if err != nil {
		t.Fatal(err)
	}
	if err := oauth.Put(t.Context(), store, cfg.LoginServer(), grant); err != nil {
		t.Fatal(err)
	}
}

// loginManager starts a manager with a server that requires a login.
func loginManager(t *testing.T, store oauth.Store, log *bytes.Buffer) (*oauthserver.Server, *mcpclients.Manager, transport.ServerConfig) {
	t.Helper()
	s := oauthserver.New()
	t.Cleanup(s.Close)
	cfg := transport.ServerConfig{Name: "s", URL: s.MCP()}
	m := start(t, mcpclients.Config{
		Servers: []transport.ServerConfig{cfg}, Logins: store,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	return s, m, cfg
}

func state(t *testing.T, m *mcpclients.Manager) schemas.ServerState { return status(t, m).State }

func TestLogin_TakenUpAndLost(t *testing.T) {
	t.Parallel()
	store := &logins{}
	var log bytes.Buffer
	s, m, cfg := loginManager(t, store, &log)
	const sentence = "wants a login: run molar servers login s"
	if st := status(t, m); st.State != schemas.StateFailed || !strings.Contains(st.Reason, sentence) {
		t.Fatalf("%s: %s", st.State, st.Reason)
	}
	if _, err := m.Call(t.Context(), "s", "add", nil); err == nil || !strings.Contains(err.Error(), sentence) {
		t.Errorf("a call: %v", err)
	}
	if n := s.Counts().Refused; n != 1 {
		t.Errorf("asked %d times without a token", n)
	}
	logIn(t, store, cfg)
	waitFor(t, "the login is taken up", func() bool { return state(t, m) == schemas.StateReady })
	s.Expire() // the current tokens are refused; the login can be renewed
	result, err := m.Call(t.Context(), "s", "add", nil)
	if err != nil || result.IsError || s.Counts().Calls != 1 || s.Counts().Renewals != 1 {
		t.Fatalf("%v, %+v", err, s.Counts())
	}
	secrets := s.Secrets()
	s.Revoke()
	if _, err := m.Call(t.Context(), "s", "add", nil); err == nil || !strings.Contains(err.Error(), sentence) {
		t.Errorf("a call after the end of the login: %v", err)
	}
	waitFor(t, "the server failed", func() bool { return state(t, m) == schemas.StateFailed })
	refused := s.Counts().Refused
	text := fmt.Sprintf("%+v", m.Status())
	logIn(t, store, cfg)
	waitFor(t, "the second login is taken up", func() bool { return state(t, m) == schemas.StateReady })
	if n := s.Counts(); n.Refused > refused+1 || n.Strays != 0 {
		t.Errorf("%+v, refused %d before", n, refused)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	for _, secret := range secrets {
		if strings.Contains(log.String()+text, secret) {
			t.Errorf("a token stands in the log or the status: %s\n%s", text, log.String())
		}
	}
}

// While the authorization server is unavailable no request reaches the server, and the error
// names the cause; the login stays stored.
func TestLogin_RenewalFails(t *testing.T) {
	t.Parallel()
	store := &logins{}
	var log bytes.Buffer
	s, m, cfg := loginManager(t, store, &log)
	logIn(t, store, cfg)
	waitFor(t, "the login is taken up", func() bool { return state(t, m) == schemas.StateReady })
	s.Behave(func(b *oauthserver.Behaviour) { b.RenewalFault = "503" })
	s.Expire()
	_, err := m.Call(t.Context(), "s", "add", nil)
	if !errors.Is(err, transport.ErrUnavailable) || errors.Is(err, transport.ErrLost) || !strings.Contains(err.Error(), "HTTP 503") {
		t.Errorf("%v", err)
	}
	if n := s.Counts(); n.Calls != 0 {
		t.Errorf("%+v", n)
	}
	s.Behave(func(b *oauthserver.Behaviour) { b.RenewalFault = "" })
	waitFor(t, "the login is renewed", func() bool {
		_, err := m.Call(t.Context(), "s", "add", nil)
		return err == nil
	})
}

// If a login lacks the scope of one call, the connection stays; the next login requests the
// scope.
func TestLogin_LacksScope(t *testing.T) {
	t.Parallel()
	store := &logins{}
	var log bytes.Buffer
	s, m, cfg := loginManager(t, store, &log)
	logIn(t, store, cfg)
	waitFor(t, "the login is taken up", func() bool { return state(t, m) == schemas.StateReady })
	s.Behave(func(b *oauthserver.Behaviour) { b.Scopes = []string{"read", "write"} })
	for range 2 {
		_, err := m.Call(t.Context(), "s", "add", nil)
		if err == nil || !strings.Contains(err.Error(), "missing scope: read write): run molar servers login s") {
			t.Fatalf("%v", err)
		}
	}
	s.Behave(func(b *oauthserver.Behaviour) { b.Unnamed = true })
	if _, err := m.Call(t.Context(), "s", "add", nil); err == nil || !strings.Contains(err.Error(), "mcpServers.s.oauth.scopes") {
		t.Errorf("scopes without a name: %v", err)
	}
	if state(t, m) != schemas.StateReady {
		t.Error("the server is not ready any more")
	}
	logIn(t, store, cfg)
	waitFor(t, "the wider login is taken up", func() bool {
		_, err := m.Call(t.Context(), "s", "add", nil)
		return err == nil
	})
}

// A deleted login is not used any more.
func TestLogin_LoggedOut(t *testing.T) {
	t.Parallel()
	store := &logins{}
	var log bytes.Buffer
	_, m, cfg := loginManager(t, store, &log)
	logIn(t, store, cfg)
	waitFor(t, "the login is taken up", func() bool { return state(t, m) == schemas.StateReady })
	if dropped, err := oauth.Drop(t.Context(), store, cfg.LoginServer()); err != nil || !dropped {
		t.Fatal(err)
	}
	waitFor(t, "the server wants a login", func() bool {
		_, err := m.Call(t.Context(), "s", "add", nil)
		return err != nil && strings.Contains(err.Error(), "wants a login")
	})
}

// The token is sent only to the server of its login: not to another port, not after a redirect,
// not together with a header of the configuration, not for another entry.
func TestLogin_TokenStaysHome(t *testing.T) {
	store := &logins{}
	s := oauthserver.New()
	defer s.Close()
	var mu sync.Mutex
	var seen []string
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header.Get("Authorization"))
		mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer thief.Close()
	cfg := transport.ServerConfig{Name: "s", URL: s.MCP()}
	logIn(t, store, cfg)
	tests := map[string]transport.ServerConfig{
		"another address under the name": {Name: "s", URL: thief.URL + "/mcp"},
		"another entry":                  {Name: "t", URL: thief.URL + "/mcp"},
		"the older transport":            {Name: "s", URL: thief.URL + "/mcp", Type: transport.TypeSSE},
	}
	for name, sc := range tests {
		m := start(t, mcpclients.Config{Servers: []transport.ServerConfig{sc}, Logins: store})
		if st := status(t, m); !strings.Contains(st.Reason, "run molar servers login "+sc.Name) || !strings.Contains(st.Reason, "headers") {
			t.Errorf("%s: %s", name, st.Reason)
		}
	}
	s.Behave(func(b *oauthserver.Behaviour) {
		b.Handler = func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, thief.URL+"/mcp", http.StatusTemporaryRedirect)
			return true
		}
	})
	m := start(t, mcpclients.Config{Servers: []transport.ServerConfig{cfg}, Logins: store})
	if st := status(t, m); !strings.Contains(st.Reason, "redirects to") {
		t.Errorf("a redirect: %s", st.Reason)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != len(tests) || strings.Join(seen, "") != "" {
		t.Errorf("what the other place saw: %q", seen)
	}
}

// With the older transport, the stream and every message carry the token.
func TestLogin_SSE(t *testing.T) {
	t.Parallel()
	store := &logins{}
	s := oauthserver.New()
	defer s.Close()
	sse := server.NewSSEServer(goodServer(), server.WithBaseURL(s.URL), server.WithSSEEndpoint(oauthserver.MCPPath))
	s.Behave(func(b *oauthserver.Behaviour) {
		b.Handler = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/message" && !s.Admit(r) {
				w.WriteHeader(http.StatusUnauthorized)
				return true
			}
			if r.URL.Path != "/message" && (r.URL.Path != oauthserver.MCPPath || !s.Admit(r)) {
				return false
			}
			sse.ServeHTTP(w, r)
			return true
		}
	})
	cfg := transport.ServerConfig{Name: "s", URL: s.MCP(), Type: transport.TypeSSE}
	m := start(t, mcpclients.Config{Servers: []transport.ServerConfig{cfg}, Logins: store})
	if st := status(t, m); !strings.Contains(st.Reason, "wants a login: run molar servers login s") {
		t.Fatalf("%s: %s", st.State, st.Reason)
	}
	logIn(t, store, cfg)
	waitFor(t, "the login is taken up", func() bool { return state(t, m) == schemas.StateReady })
	if result, err := m.Call(t.Context(), "s", "add", json.RawMessage(`{"a":1,"b":2}`)); err != nil || result.IsError {
		t.Fatalf("%v", err)
	}
	s.Expire()
	if _, err := m.Call(t.Context(), "s", "add", json.RawMessage(`{"a":1,"b":2}`)); err != nil || s.Counts().Renewals != 1 {
		t.Errorf("after the token ran out: %v, %+v", err, s.Counts())
	}
	s.Revoke()
	if _, err := m.Call(t.Context(), "s", "add", nil); err == nil || !strings.Contains(err.Error(), "wants a login") {
		t.Errorf("after the login ended: %v", err)
	}
	waitFor(t, "the server failed", func() bool { return state(t, m) == schemas.StateFailed })
}

// A server with configured credentials needs no login.
func TestLogin_HeaderOfTheConfig(t *testing.T) {
	store := &logins{}
	s := oauthserver.New()
	defer s.Close()
	cfg := transport.ServerConfig{Name: "s", URL: s.MCP()}
	logIn(t, store, cfg)
	cfg.Headers = map[string]string{"authorization": "Bearer wrong"}
	m := start(t, mcpclients.Config{Servers: []transport.ServerConfig{cfg}, Logins: store})
	if st := status(t, m); !strings.Contains(st.Reason, "set the headers it needs") || strings.Contains(st.Reason, "login") {
		t.Errorf("%s", st.Reason)
	}
}
