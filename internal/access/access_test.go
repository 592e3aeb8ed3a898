package access_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"molar/internal/access"
	"molar/internal/config"
	"molar/internal/httpguard"
	"molar/internal/store"
	"molar/schemas"
)

// A memory keeps keys and links as long as the test lasts.
type memory struct {
	mu    sync.Mutex
	keys  []store.APIKey
	links map[string]link
}

type link struct {
	key   string
	until time.Time
}

func (m *memory) AddKey(_ context.Context, k store.APIKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k.CreatedAt = time.Now()
	m.keys = append(m.keys, k)
	return nil
}

func (m *memory) TouchKeys(context.Context, map[string]time.Time) error { return nil }
func (m *memory) SavePerson(context.Context, store.Person) error        { return nil }
func (m *memory) Audit(context.Context, schemas.AuditLine) error        { return nil }

func (m *memory) DropSessions(_ context.Context, unusedSince time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys = slices.DeleteFunc(m.keys, func(k store.APIKey) bool {
		return k.Session && (k.LastUsed.Before(unusedSince) && k.CreatedAt.Before(unusedSince) || !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(time.Now()))
	})
	return nil
}

func (m *memory) Keys(context.Context) ([]store.APIKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.keys), nil
}

// change changes the first key; it removes it if change is nil.
func (m *memory) change(change func(*store.APIKey)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if change == nil {
		m.keys = m.keys[1:]
		return
	}
	change(&m.keys[0])
}

func (m *memory) RevokeKey(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys = slices.DeleteFunc(m.keys, func(k store.APIKey) bool { return k.ID == id || k.Parent == id })
	return nil
}

func (m *memory) AddLink(_ context.Context, hash, keyID string, until time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.links == nil {
		m.links = map[string]link{}
	}
	m.links[hash] = link{keyID, until}
	return nil
}

func (m *memory) TakeLink(_ context.Context, hash string) (string, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.links[hash]
	delete(m.links, hash)
	return l.key, ok && time.Now().Before(l.until), nil
}

func open(t *testing.T, m *memory, sessions bool, keys ...config.APIKey) *access.Access {
	t.Helper()
	a, err := access.Open(t.Context(), access.Config{Store: m, Keys: keys, Sessions: sessions, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAccess_WithoutKeysEverybodyMayCome(t *testing.T) {
	if a := open(t, &memory{}, true); a.Ring().On() {
		t.Error("the ring is on without a key")
	}
	a := open(t, &memory{}, true, config.APIKey{Name: "ci", Key: "secret", Scopes: []string{httpguard.ScopeChat}})
	if !a.Ring().On() {
		t.Error("the ring is off, with a key in the file")
	}
}

// The link works once, and for ten minutes.
func TestAccess_SignIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		a := open(t, m, true)
		in := func(token string) (string, bool) {
			t.Helper()
			session, ok, err := a.SignIn(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			return session, ok
		}
		link := func() string {
			t.Helper()
			token, err := a.NewLink(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		if _, ok := in(""); ok {
			t.Error("no token signs in where no link was made")
		}
		first := link()
		token := link()
		if _, ok := in(first); ok {
			t.Error("the link before signs in")
		}
		session, ok := in(token)
		if !ok || session == "" || len(m.keys) != 1 || !m.keys[0].Session {
			t.Fatalf("session %q, %v; stored %v", session, ok, m.keys)
		}
		if strings.Contains(m.keys[0].Hash, session) {
			t.Error("the session itself is in the store")
		}
		if _, ok := in(token); ok {
			t.Error("the link works twice")
		}
		late := link()
		time.Sleep(10*time.Minute + time.Second)
		if _, ok := in(late); ok {
			t.Error("the link works after its ten minutes")
		}
	})
}

// Sessions that nobody uses any more are deleted while the host runs, not only when it starts.
func TestAccess_DropsUnusedSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		a := open(t, m, true)
		token, err := a.NewLink(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, ok, err := a.SignIn(t.Context(), token); !ok || err != nil {
			t.Fatal(ok, err)
		}
		go a.Watch(t.Context(), func() {})
		for _, tt := range []struct {
			after time.Duration
			left  int
		}{{11 * time.Hour, 1}, {2 * time.Hour, 0}} {
			time.Sleep(tt.after)
			if keys, err := m.Keys(t.Context()); err != nil || len(keys) != tt.left {
				t.Errorf("after another %s: %d sessions, %v", tt.after, len(keys), err)
			}
		}
	})
}

// A port without pages takes no session.
func TestAccess_SessionsOnlyWhereThereArePages(t *testing.T) {
	stored := []store.APIKey{
		{ID: "ses_1", Name: "browser", Session: true, CreatedAt: time.Now(), Hash: httpguard.HashOf("s").String()},
		{ID: "key_1", Name: "laptop", Hash: httpguard.HashOf("k").String()},
	}
	for _, pages := range []bool{true, false} {
		a := open(t, &memory{keys: stored}, pages)
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.AddCookie(&http.Cookie{Name: httpguard.SessionCookie, Value: "s"})
		if _, refused := a.Ring().Identify(r); (refused == nil) != pages {
			t.Errorf("with pages %v: the session was refused: %v", pages, refused)
		}
	}
}

// The settings of a key count alike, wherever the key is kept.
func TestAccess_Manner(t *testing.T) {
	for _, tt := range []struct {
		manner schemas.KeyManner
		want   httpguard.Manner
	}{
		{schemas.KeyManner{}, httpguard.Manner{}},
		{schemas.KeyManner{Input: "typed", System: "client", Ask: "person"}, httpguard.Manner{}},
		{schemas.KeyManner{Input: "data"}, httpguard.Manner{Data: true}},
		{schemas.KeyManner{System: "trusted"}, httpguard.Manner{OwnSystem: true}},
		{schemas.KeyManner{Ask: "never"}, httpguard.Manner{AskNever: true}},
	} {
		kept := &memory{keys: []store.APIKey{{ID: "key_1", Name: "kept", Hash: httpguard.HashOf("kept").String(), KeyManner: tt.manner}}}
		a := open(t, kept, true, config.APIKey{Name: "file", Key: "file", Input: tt.manner.Input, System: tt.manner.System, Ask: tt.manner.Ask})
		for _, key := range []string{"kept", "file"} {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Header.Set("X-Api-Key", key)
			if who, refused := a.Ring().Identify(r); refused != nil || who.Manner != tt.want {
				t.Errorf("%s with %+v: %+v, refused: %v", key, tt.manner, who.Manner, refused)
			}
		}
	}
}

func TestNewKey(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	tests := []struct {
		name, key string
		scopes    []string
		manner    schemas.KeyManner
		expires   string
		fault     string
	}{
		{"a key", "laptop", []string{"chat"}, schemas.KeyManner{}, "", ""},
		{"that ends", "ci", []string{"chat", "admin"}, schemas.KeyManner{}, "90d", ""},
		{"of a webhook", "hook", []string{"chat"}, schemas.KeyManner{Input: "data", System: "client", Ask: "never"}, "", ""},
		{"a name with a space", "my laptop", []string{"chat"}, schemas.KeyManner{}, "", `name "my laptop"`},
		{"an unknown scope", "a", []string{"root"}, schemas.KeyManner{}, "", `--scope "root"`},
		{"a scope twice", "a", []string{"chat", "chat"}, schemas.KeyManner{}, "", "twice"},
		{"a time that is past", "a", []string{"chat"}, schemas.KeyManner{}, "-1h", "--expires"},
		{"an unknown input", "a", []string{"chat"}, schemas.KeyManner{Input: "dat"}, "", `--input "dat": choose of typed, data`},
		{"an unknown system", "a", []string{"chat"}, schemas.KeyManner{System: "mine"}, "", `--system "mine": choose of trusted, client`},
		{"an unknown ask", "a", []string{"chat"}, schemas.KeyManner{Ask: "no"}, "", `--ask "no": choose of person, never`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key, err := access.NewKey(tt.key, tt.scopes, tt.manner, tt.expires, now)
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Fatalf("got %v, want an error with %q", err, tt.fault)
				}
				return
			}
			if err != nil || key.Hash != httpguard.HashOf(key.Key).String() || key.KeyManner != tt.manner {
				t.Fatalf("key %+v, error %v", key, err)
			}
			if tt.expires == "90d" && !key.ExpiresAt.Equal(now.Add(90*24*time.Hour).Truncate(time.Second)) {
				t.Errorf("expires %s", key.ExpiresAt)
			}
		})
	}
}

// Where strangers may reach the port with the pages, it admits nobody without a key or a name.
func TestClosesPages(t *testing.T) {
	proxies := []string{"127.0.0.1"}
	for name, tt := range map[string]struct {
		cfg  config.Config
		want bool
	}{
		"this machine alone":         {config.Config{}, false},
		"behind a proxy":             {config.Config{TrustedProxies: proxies}, true},
		"the proxy names people":     {config.Config{TrustedProxies: proxies, Identity: config.ProxyIdentity{Header: "X-User"}}, false},
		"for the public":             {config.Config{Public: config.Public{Assistant: "dental"}}, true},
		"public, and people by name": {config.Config{TrustedProxies: proxies, Identity: config.ProxyIdentity{Header: "X-User"}, Public: config.Public{Assistant: "dental"}}, false},
		"people sign in":             {config.Config{Identity: config.ProxyIdentity{OIDC: config.OIDC{Issuer: "https://id.example"}}}, true},
	} {
		if got := access.ClosesPages(&tt.cfg); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
