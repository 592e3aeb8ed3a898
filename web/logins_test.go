package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"molar/schemas"
)

// someLogins holds the login of everybody at the server "desk".
type someLogins struct {
	// begun are the addresses and paths to come back to.
	begun []string
	fault error
}

func (l *someLogins) List(context.Context, schemas.Caller) ([]schemas.PersonLogin, error) {
	return []schemas.PersonLogin{{Server: "desk", Connected: true, Since: created, Issuer: "https://id.example.com", Scopes: []string{"read"}}}, l.fault
}

func (l *someLogins) Begin(_ context.Context, _ schemas.Caller, server, redirect, to string) (address, kept string, err error) {
	l.begun = append(l.begun, redirect+" "+to)
	return "https://id.example.com/auth?for=" + server, "sealed", l.fault
}

func (l *someLogins) Finish(_ context.Context, _ schemas.Caller, kept string, query url.Values) (server, to string, err error) {
	if kept != "sealed" {
		return "", "", errors.New("no login was begun")
	}
	return "desk", query.Get("iss"), l.fault
}

func (l *someLogins) End(_ context.Context, _ schemas.Caller, server string) (bool, error) {
	return server == "desk", l.fault
}

// A login in the browser comes back to this host, as the browser names it, and then goes to a path of this
// host only.
func TestLogins_InABrowser(t *testing.T) {
	logins := &someLogins{}
	cfg, _ := fullConfig(t, toolTurn())
	cfg.Logins = logins
	ts := live(t, cfg)
	for to, want := range map[string]string{"": "", "/account": "/account", "//evil.test": "/", "https://evil.test/": "/", "/login": "/"} {
		logins.begun = nil
		res, _ := ask(t, ts, http.MethodGet, "/v1/logins/desk/begin?to="+url.QueryEscape(to), "", page)
		cookies := res.Cookies()
		if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "https://id.example.com/auth?for=desk" || res.Header.Get("Cache-Control") != "no-store" ||
			len(cookies) != 1 || cookies[0].Value != "sealed" || cookies[0].Path != "/oauth/" || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
			t.Errorf("to %q: %d %v", to, res.StatusCode, res.Header)
		}
		if got := strings.Join(logins.begun, ","); got != ts.URL+"/oauth/callback "+want {
			t.Errorf("to %q it comes back to %q", to, got)
		}
	}
	res, body := ask(t, ts, http.MethodGet, `/oauth/callback?state=s&code="><script>&more=x`, "", page)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, `content="0;url=/oauth/finish?code=%22%3E%3Cscript%3E&amp;state=s"`) || !strings.HasPrefix(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("back: %d %v %s", res.StatusCode, res.Header, body)
	}
	kept := map[string]string{"Cookie": "molar_login=sealed"}
	for path, want := range map[string]string{"/oauth/finish?code=c": "", "/oauth/finish?iss=/account": "/account"} {
		res, body := ask(t, ts, http.MethodGet, path, "", kept)
		cookies := res.Cookies()
		if res.Header.Get("Location") != want || want == "" && !strings.Contains(body, "You are connected to desk") || len(cookies) != 1 || cookies[0].MaxAge >= 0 {
			t.Errorf("%s: %d to %q, %v %s", path, res.StatusCode, res.Header.Get("Location"), cookies, body)
		}
	}
	if res, body := ask(t, ts, http.MethodGet, "/oauth/finish?code=c", "", nil); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "Chưa kết nối") {
		t.Errorf("nothing was begun: %d %s", res.StatusCode, body)
	}
	logins.fault = errors.New("no such host: secret")
	if res, body := ask(t, ts, http.MethodGet, "/v1/logins/desk/begin", "", page); res.StatusCode != http.StatusBadGateway || strings.Contains(body, "secret") || len(res.Cookies()) > 0 {
		t.Errorf("it cannot begin: %d %s", res.StatusCode, body)
	}
}
