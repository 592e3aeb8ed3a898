package web_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web"
)

// signInHost is a host with the keys "admin", "chat" and "ann", who is a person of the group staff, and
// one session of ann, "cookie".
func signInHost(t *testing.T) *httptest.Server {
	t.Helper()
	rights := &schemas.Rights{Groups: []schemas.Group{{Name: "staff", Scopes: []string{"chat"}, Tools: []string{"family__*"}}}}
	ring := httpguard.NewKeyring(nil)
	session := httpguard.Key{
		ID: "ses_1", Owner: "person:ann", Counts: "person:ann", Name: "Ann", Person: true, Rights: rights, Scopes: []string{"chat"}, Session: true, Hash: httpguard.HashOf("cookie"),
	}
	keys := []httpguard.Key{
		{ID: "k1", Owner: "k1", Name: "root", Scopes: []string{"chat", "admin"}, Hash: httpguard.HashOf("admin")},
		{ID: "k2", Owner: "k2", Name: "laptop", Scopes: []string{"chat"}, Hash: httpguard.HashOf("chat")},
		{ID: "k3", Owner: "person:ann", Counts: "person:ann", Name: "ann", Person: true, Rights: rights, Scopes: []string{"chat"}, Hash: httpguard.HashOf("ann")},
	}
	ring.Set(append(keys, session))
	cfg, _ := fullConfig(t, toolTurn())
	cfg.Access = web.Access{
		Keys: ring,
		SignInKey: func(_ context.Context, key string) (string, *httpguard.Refusal, error) {
			_, refusal := ring.Open(key, false)
			return "cookie", refusal, nil
		},
		SignOut: func(_ context.Context, session string) error {
			if session == "cookie" {
				ring.Set(keys)
			}
			return nil
		},
		Rights: func(groups []string) (*schemas.Rights, bool) { return nil, len(groups) > 0 },
	}
	return live(t, cfg)
}

// ask makes a request without following redirects. A browser sends a form and asks for pages.
func ask(t *testing.T, ts *httptest.Server, method, path, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, ts.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

const jsonType = "application/json"

var page = map[string]string{"Accept": "text/html"}

// Only the page for signing in and its files are open to a browser that is not signed in; every other
// page leads there and back.
func TestSignIn_OpensOnlyItsPage(t *testing.T) {
	ts := signInHost(t)
	for _, path := range []string{"/login", "/v1/signin", "/static/style.css", "/static/pages.css", "/static/app.js", "/static/login.js", "/static/icon.svg"} {
		if res, _ := ask(t, ts, http.MethodGet, path, "", nil); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	for _, path := range []string{"/", "/static/chat.js", "/v1/me", "/v1/models", "/login/", "/login/other", "/static/../v1/me", "/static/nogroup.html"} {
		if res, _ := ask(t, ts, http.MethodGet, path, "", nil); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	for path, want := range map[string]string{"/": "/login", "/turn?id=a&b=c": "/login?to=%2Fturn%3Fid%3Da%26b%3Dc", "/?token=x": "/login"} {
		res, _ := ask(t, ts, http.MethodGet, path, "", page)
		if got := res.Header.Get("Location"); path != "/?token=x" && (res.StatusCode != http.StatusSeeOther || got != want) {
			t.Errorf("%s: %d to %q, want %q", path, res.StatusCode, got, want)
		}
	}
	if res, body := ask(t, ts, http.MethodGet, "/login", "", page); res.Header.Get("Referrer-Policy") != "same-origin" || !strings.Contains(body, `data-vi="Đăng nhập"`) {
		t.Errorf("the page: %v", res.Header)
	}
}

// A key signs a browser in, by the form of the page or as JSON, and goes on to a path of this host only.
func TestSignIn_WithAKey(t *testing.T) {
	ts := signInHost(t)
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": ts.URL}
	for to, want := range map[string]string{
		"": "/", "/turn?id=x": "/turn?id=x", "https://evil.test/": "/", "//evil.test": "/", `/\evil.test`: "/", "turn": "/", "/login?to=/login": "/", "/logout": "/",
		"/\tevil": "/", "javascript:alert(1)": "/", "/?q=" + strings.Repeat("x", 2000): "/", // a cookie holds 4 kB
	} {
		res, _ := ask(t, ts, http.MethodPost, "/login", url.Values{"key": {" chat\n"}, "to": {to}}.Encode(), form)
		cookies := res.Cookies()
		if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != want || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
			t.Errorf("to %q: %d to %q, cookies %v", to, res.StatusCode, res.Header.Get("Location"), cookies)
		}
	}
	res, _ := ask(t, ts, http.MethodPost, "/login", "key=wrong&to=/turn", form)
	if got := res.Header.Get("Location"); got != "/login?fault=invalid_api_key&to=%2Fturn" || len(res.Cookies()) > 0 {
		t.Errorf("a wrong key goes to %q with %v", got, res.Cookies())
	}
	for key, want := range map[string]int{"chat": http.StatusOK, "wrong": http.StatusUnauthorized, "cookie": http.StatusUnauthorized, "": http.StatusUnauthorized} {
		body, _ := json.Marshal(map[string]string{"key": key})
		if res, _ := ask(t, ts, http.MethodPost, "/login", string(body), map[string]string{"Content-Type": jsonType}); res.StatusCode != want || (len(res.Cookies()) == 1) != (want == http.StatusOK) {
			t.Errorf("key %q: %d, cookies %v", key, res.StatusCode, res.Cookies())
		}
	}
	form["Origin"] = "https://evil.test" // a page of another site signs nobody in
	if res, _ := ask(t, ts, http.MethodPost, "/login", "key=chat", form); res.StatusCode != http.StatusForbidden || len(res.Cookies()) > 0 {
		t.Errorf("from another site: %d", res.StatusCode)
	}
}

// Signing out ends the session and clears the cookie.
func TestSignOut(t *testing.T) {
	ts := signInHost(t)
	cookie := map[string]string{"Cookie": httpguard.SessionCookie + "=cookie", "Origin": ts.URL}
	if res, body := ask(t, ts, http.MethodGet, "/v1/me", "", cookie); res.StatusCode != http.StatusOK || !strings.Contains(body, `"session":true`) {
		t.Fatalf("before: %d %s", res.StatusCode, body)
	}
	foreign := map[string]string{"Cookie": cookie["Cookie"], "Origin": "https://evil.test"}
	if res, _ := ask(t, ts, http.MethodPost, "/logout", "", foreign); res.StatusCode != http.StatusForbidden {
		t.Errorf("another site signs people out: %d", res.StatusCode)
	}
	res, _ := ask(t, ts, http.MethodPost, "/logout", "", cookie)
	if c := res.Cookies(); res.StatusCode != http.StatusOK || len(c) != 1 || c[0].MaxAge >= 0 || c[0].Name != httpguard.SessionCookie {
		t.Errorf("sign out: %d %v", res.StatusCode, c)
	}
	if res, _ := ask(t, ts, http.MethodGet, "/v1/me", "", cookie); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("after: %d", res.StatusCode)
	}
}

// Each client sees who it is, only the tools and servers of its groups, and no page of operators.
func TestSeen_ByGroups(t *testing.T) {
	ts := signInHost(t)
	get := func(key, path, accept string) (int, string) {
		t.Helper()
		res, body := ask(t, ts, http.MethodGet, path, "", map[string]string{"Authorization": "Bearer " + key, "Accept": accept})
		return res.StatusCode, body
	}
	_, me := get("ann", "/v1/me", jsonType)
	for _, want := range []string{`"id":"person:ann"`, `"person":true`, `"session":false`, `"scopes":["chat"]`, `"groups":["staff"]`} {
		if !strings.Contains(me, want) {
			t.Errorf("me %s lacks %s", me, want)
		}
	}
	for _, tt := range []struct {
		path, field string
	}{{"/v1/tools", "name"}, {"/v1/servers", "name"}, {"/v1/prompts", "server"}} {
		for _, key := range []string{"ann", "chat", "admin"} {
			status, body := get(key, tt.path, jsonType)
			var list struct{ Data []map[string]any }
			if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK {
				t.Fatalf("%s with %s: %d %v", tt.path, key, status, err)
			}
			others := 0
			for _, entry := range list.Data {
				if name, _ := entry[tt.field].(string); !strings.HasPrefix(name, "family") {
					others++
				}
				if reason, has := entry["reason"]; key == "ann" && has {
					t.Errorf("a person sees the reason %v", reason)
				}
			}
			if (others > 0) != (key != "ann") && tt.path != "/v1/prompts" || key == "ann" && others > 0 {
				t.Errorf("%s with %s shows %d of others: %s", tt.path, key, others, body)
			}
		}
	}
	for _, path := range []string{"/tools", "/config"} {
		if status, _ := get("admin", path, "text/html"); status != http.StatusOK {
			t.Errorf("%s for an operator: %d", path, status)
		}
		if status, body := get("ann", path, "text/html"); status != http.StatusForbidden || !strings.Contains(body, "Trang này dành cho người vận hành") {
			t.Errorf("%s for a person: %d %.80s", path, status, body)
		}
		if status, body := get("ann", path, jsonType); status != http.StatusForbidden || strings.Contains(body, "molar keys create") || !strings.Contains(body, "insufficient_scope") {
			t.Errorf("%s for a person's program: %d %.300s", path, status, body)
		}
	}
	if _, body := get("chat", "/config", jsonType); !strings.Contains(body, "molar keys create NAME --scope admin") {
		t.Errorf("a key is not told what to make: %s", body)
	}
}
