package web

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"molar/internal/httpguard"
)

// Over TLS, also before the public address, the cookie of a session can be set by this host alone: another
// host of the same site could set one without the prefix, and make somebody act in a stranger's session.
func TestSessionCookie_OverTLS(t *testing.T) {
	ring := httpguard.NewKeyring(nil)
	ring.Set([]httpguard.Key{
		{ID: "k", Hash: httpguard.HashOf("key"), Scopes: []string{"chat"}},
		{ID: "s", Hash: httpguard.HashOf("session"), Scopes: []string{"chat"}, Session: true},
	})
	handler, _ := keyedServer(t, func(c *Config) {
		c.Access = Access{Keys: ring, PublicURL: "https://chat.example", SignInKey: func(context.Context, string) (string, *httpguard.Refusal, error) { return "session", nil, nil }}
	})
	for _, tt := range []struct {
		host   string
		tls    bool
		secure bool
	}{{"chat.example", false, true}, {"Chat.Example", false, true}, {"127.0.0.1:8000", true, true}, {"127.0.0.1:8000", false, false}} {
		request := func(method, path, body string) *http.Request {
			r := httptest.NewRequest(method, "http://"+tt.host+path, strings.NewReader(body))
			r.RemoteAddr = loopback
			r.Header.Set("Content-Type", "application/json")
			if tt.tls {
				r.TLS = &tls.ConnectionState{}
			}
			return r
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request(http.MethodPost, "/login", `{"key":"key"}`))
		if c := w.Result().Cookies(); len(c) != 1 || c[0].Secure != tt.secure || strings.HasPrefix(c[0].Name, "__Host-") != tt.secure {
			t.Errorf("%+v: the cookie is %v", tt, c)
		}
		for name, opens := range map[string]bool{httpguard.SecureSessionCookie: true, httpguard.SessionCookie: !tt.secure} {
			r := request(http.MethodGet, "/v1/me", "")
			r.AddCookie(&http.Cookie{Name: "theme", Value: "dark"})
			r.AddCookie(&http.Cookie{Name: name, Value: "session"})
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if (w.Code == http.StatusOK) != opens {
				t.Errorf("%+v: with the cookie %s: %d %s", tt, name, w.Code, w.Body)
			}
		}
	}
}

// A browser that comes back from another site brings no session, and is sent on to where it does.
func TestLogin_ComesBackWithoutSession(t *testing.T) {
	handler, _ := keyedServer(t, func(c *Config) { c.Logins = struct{ LoginStore }{} })
	if w := knock(handler, http.MethodGet, "/oauth/callback?state=s&code=c", "", loopback); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "url=/oauth/finish?code=c&amp;state=s") {
		t.Errorf("back from the login: %d %s", w.Code, w.Body)
	}
	if w := knock(handler, http.MethodGet, "/oauth/finish?state=s&code=c", "", loopback); w.Code != http.StatusUnauthorized {
		t.Errorf("the end of a login, for nobody: %d", w.Code)
	}
}
