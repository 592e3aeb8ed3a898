package oauth_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/testkit/oauthserver"
	"molar/mcpclients/oauth"
)

// memory stores logins in memory, with the rules of the real store.
type memory struct {
	mu       sync.Mutex
	state    json.RawMessage
	revision int64
	serial   int64
	leased   bool
	broken   error // the error of writes
}

func (m *memory) GetLogin(context.Context, string) (json.RawMessage, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state, m.revision, nil
}

func (m *memory) SwapLogin(_ context.Context, _ string, revision int64, state json.RawMessage) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil || revision != m.revision {
		return false, m.broken
	}
	m.serial++
	m.state, m.revision, m.leased = state, m.serial, false
	if state == nil {
		m.revision = 0
	}
	return true, nil
}

func (m *memory) LeaseLogin(_ context.Context, _ string, revision int64, _ time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leased || revision != m.revision {
		return false, nil
	}
	m.leased = true
	return true, nil
}

func (m *memory) breakWrites(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
}

// clock is a clock that tests advance.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Now()} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// guarded starts the servers.
func guarded(t *testing.T) *oauthserver.Server {
	t.Helper()
	s := oauthserver.New()
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, now func() time.Time) *oauth.Client {
	t.Helper()
	c, err := oauth.NewClient(nil, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const redirect = "http://127.0.0.1:1/callback"

func at(s *oauthserver.Server) oauth.Server { return oauth.Server{Name: "s", URL: s.MCP()} }

// walk opens the address of a login as a browser would, and returns the query of the redirect
// back.
func walk(t *testing.T, login *oauth.Login) url.Values {
	t.Helper()
	browser := http.Client{
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := browser.Get(login.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	back, err := resp.Location()
	if err != nil {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("the authorization server answered %s: %s", resp.Status, body)
	}
	return back.Query()
}

// loggedIn completes a login and stores it.
func loggedIn(t *testing.T, c *oauth.Client, s *oauthserver.Server, store oauth.Store) oauth.Grant {
	t.Helper()
	before, _, err := oauth.Get(t.Context(), store, at(s))
	if err != nil {
		t.Fatal(err)
	}
	login, err := c.Begin(t.Context(), at(s), redirect, before)
	if err != nil {
		t.Fatal(err)
	}
	g, err := login.Finish(t.Context(), walk(t, login))
	if err != nil {
		t.Fatal(err)
	}
	if err := oauth.Put(t.Context(), store, at(s), g); err != nil {
		t.Fatal(err)
	}
	return g
}

func source(t *testing.T, s *oauthserver.Server, store oauth.Store, c *oauth.Client, log io.Writer) *oauth.Source {
	t.Helper()
	src := oauth.NewSource(at(s), store, c, slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(src.Close)
	return src
}

// wantFault checks that an error contains the expected text, and no secret.
func wantFault(t *testing.T, err error, want string, secrets ...string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error %v, want %q in it", err, want)
	}
	for _, secret := range append(secrets, "canary-", "\x1b") {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error holds %q: %v", secret, err)
		}
	}
}
