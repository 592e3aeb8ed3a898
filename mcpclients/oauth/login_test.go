package oauth_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/internal/testkit/oauthserver"
	"molar/mcpclients/oauth"
)

func TestLogin(t *testing.T) {
	for name, change := range map[string]func(*oauthserver.Behaviour){
		"as the specification wants it": func(*oauthserver.Behaviour) {},
		"the refusal says nothing":      func(b *oauthserver.Behaviour) { b.Challenge = "-" },
		"registered clients get a secret": func(b *oauthserver.Behaviour) {
			b.Secret = true
		},
		"the document is elsewhere": func(b *oauthserver.Behaviour) {
			b.NoResource, b.Challenge = true, `Basic realm="x, Bearer", Bearer realm="a\"b", resource_metadata="%s/elsewhere"`
			b.Handler = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/elsewhere" {
					_, _ = fmt.Fprintf(w, `{"resource":"http://%s/mcp","authorization_servers":["http://%s/as"]}`, r.Host, r.Host)
				}
				return r.URL.Path == "/elsewhere"
			}
		},
		"an OpenID server": func(b *oauthserver.Behaviour) {
			b.NoMetadata = true
			b.Handler = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/as/.well-known/openid-configuration" {
					r.URL.Path = "/moved"
					http.Redirect(w, r, "/moved", http.StatusFound)
					return true
				}
				if r.URL.Path == "/moved" {
					_, _ = fmt.Fprintf(w, `{"issuer":"http://%[1]s/as","authorization_endpoint":"http://%[1]s/as/authorize?kept=1","token_endpoint":"http://%[1]s/as/token",
						"registration_endpoint":"http://%[1]s/as/register","code_challenge_methods_supported":["S256"]}`, r.Host)
					return true
				}
				return false
			}
		},
		"the redirect names no issuer": func(b *oauthserver.Behaviour) {
			b.RedirectIssuer = "-"
			b.Metadata = map[string]any{"authorization_response_iss_parameter_supported": nil}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, store := guarded(t), &memory{}
			s.Behave(change)
			s.Behave(func(b *oauthserver.Behaviour) { b.Challenge = strings.ReplaceAll(b.Challenge, "%s", s.URL) })
			g := loggedIn(t, client(t, nil), s, store)
			if g.Access == "" || g.Refresh == "" || g.Issuer != s.IssuerURL() || g.URL != s.MCP() {
				t.Error("the login lacks something")
			}
			if text := fmt.Sprintf("%v %+v %#v %s", g, g, g, &g); strings.Contains(text, "canary") {
				t.Errorf("printed, it shows a secret: %s", text)
			}
			if faults := s.Faults(); faults != nil {
				t.Errorf("rules that were broken: %q", faults)
			}
			if n := s.Counts(); n.Registered != 1 || n.Codes != 1 || n.Strays != 0 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// The first revision of MCP: no metadata documents, endpoints at the root.
func TestLogin_FirstRevision(t *testing.T) {
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mcp":
			w.WriteHeader(http.StatusUnauthorized)
		case "/register":
			_, _ = w.Write([]byte(`{"client_id":"x"}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer front.Close()
	login, err := client(t, nil).Begin(t.Context(), oauth.Server{Name: "s", URL: front.URL + "/mcp"}, redirect, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(login.URL, front.URL+"/authorize?") || login.Issuer != front.URL {
		t.Errorf("%s at %s", login.URL, login.Issuer)
	}
}

func TestLogin_ByHand(t *testing.T) {
	for _, secret := range []string{"", "canary-secret-of-the-config"} {
		s := guarded(t)
		s.AddClient("by hand", secret, redirect)
		s.Behave(func(b *oauthserver.Behaviour) { b.Metadata = map[string]any{"registration_endpoint": nil} })
		c := client(t, nil)
		_, err := c.Begin(t.Context(), at(s), redirect, nil)
		wantFault(t, err, "mcpServers.s.oauth.client_id")
		server := at(s)
		server.Settings = oauth.Settings{ClientID: "by hand", ClientSecret: secret, Scopes: []string{"write"}}
		login, err := c.Begin(t.Context(), server, redirect, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := login.Finish(t.Context(), walk(t, login))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(g.Scopes, []string{"write"}) || g.ClientSecret != "" || s.Counts().Registered != 0 {
			t.Errorf("scopes %q, %+v: the secret of the config must stay there", g.Scopes, s.Counts())
		}
	}
}

func TestLogin_Scopes(t *testing.T) {
	s := guarded(t)
	c := client(t, nil)
	asked := func(server oauth.Server, before *oauth.Grant) string {
		t.Helper()
		login, err := c.Begin(t.Context(), server, redirect, before)
		if err != nil {
			t.Fatal(err)
		}
		u, _ := url.Parse(login.URL)
		return u.Query().Get("scope")
	}
	if got := asked(at(s), nil); got != "read" {
		t.Errorf("%q, want what the server knows", got)
	}
	s.Behave(func(b *oauthserver.Behaviour) {
		b.Challenge = `Bearer scope="call list"`
		b.Metadata = map[string]any{"scopes_supported": []string{"offline_access", "else"}}
	})
	if got := asked(at(s), nil); got != "call list offline_access" {
		t.Errorf("%q, want what the refusal names, and offline_access where it is known", got)
	}
	before := &oauth.Grant{URL: s.MCP(), Scopes: []string{"call", "old"}, Wanted: []string{"delete"}}
	if got := asked(at(s), before); got != "call list old delete offline_access" {
		t.Errorf("%q, want what was missed, beside what there was", got)
	}
}

// Each of these cases is refused before a secret is sent.
func TestLogin_Refuses(t *testing.T) {
	hostile := func(metadata map[string]any) func(*oauthserver.Behaviour) {
		return func(b *oauthserver.Behaviour) { b.Metadata = metadata }
	}
	answer := func(path string, f http.HandlerFunc) func(*oauthserver.Behaviour) {
		return func(b *oauthserver.Behaviour) {
			b.Handler = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasPrefix(r.URL.Path, path) {
					f(w, r)
					return true
				}
				return false
			}
		}
	}
	const prm = "/.well-known/oauth-protected-resource"
	for name, tt := range map[string]struct {
		change func(*oauthserver.Behaviour)
		want   string
	}{
		"another issuer":            {func(b *oauthserver.Behaviour) { b.Issuer = "https://other.example" }, "claims to be"},
		"another resource":          {func(b *oauthserver.Behaviour) { b.Resource = "https://other.example/mcp" }, "correct mcpServers.s.url"},
		"a resource beside":         {func(b *oauthserver.Behaviour) { b.Resource = "SELF/mc" }, "correct mcpServers.s.url"},
		"no PKCE":                   {hostile(map[string]any{"code_challenge_methods_supported": nil}), "PKCE"},
		"plain PKCE":                {hostile(map[string]any{"code_challenge_methods_supported": []string{"plain"}}), "PKCE"},
		"tokens in clear":           {hostile(map[string]any{"token_endpoint": "http://as.example/token"}), "requires https"},
		"a page that is a script":   {hostile(map[string]any{"authorization_endpoint": "javascript:alert(1)"}), "not an address"},
		"a file":                    {hostile(map[string]any{"authorization_endpoint": "file:///etc/passwd"}), "not an address"},
		"an option for the browser": {hostile(map[string]any{"authorization_endpoint": "--help"}), "not an address"},
		"a user in an address":      {hostile(map[string]any{"token_endpoint": "https://u:p@as.example/token"}), "not an address"},
		"no metadata":               {func(b *oauthserver.Behaviour) { b.NoMetadata = true }, "no document at its well-known addresses"},
		"huge metadata": {answer("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"` + strings.Repeat("x", 1<<20) + `"}`))
		}), "longer than 256 KiB"},
		"metadata that is a page": {answer("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`<html>welcome`))
		}), "no document at its well-known addresses"},
		"metadata that leads elsewhere": {answer("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://localhost:1/evil", http.StatusFound)
		}), "no document at its well-known addresses"},
		"metadata that goes round": {answer("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
		}), "no document at its well-known addresses"},
		"no authorization server": {answer(prm, func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, `{"resource":"http://%s/mcp"}`, r.Host)
		}), "names no authorization server"},
		"an authorization server in clear": {answer(prm, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"authorization_servers":["http://as.example"]}`))
		}), "requires https"},
		"a fault of the server": {answer("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
		}), "HTTP 502"},
		"a refused registration": {answer("/as/register", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error":"access_denied","error_description":"not \u001b[31myou"}`))
		}), "access_denied (not [31myou); register one by hand"},
		"a registration that leads elsewhere": {answer("/as/register", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/as/register2", http.StatusTemporaryRedirect)
		}), "HTTP 307"},
	} {
		t.Run(name, func(t *testing.T) {
			s := guarded(t)
			s.Behave(tt.change)
			s.Behave(func(b *oauthserver.Behaviour) { b.Resource = strings.ReplaceAll(b.Resource, "SELF", s.URL) })
			_, err := client(t, nil).Begin(t.Context(), at(s), redirect, nil)
			wantFault(t, err, tt.want)
		})
	}
}

func TestLogin_OpenServer(t *testing.T) {
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			http.NotFound(w, r)
		}
	}))
	defer open.Close()
	_, err := client(t, nil).Begin(t.Context(), oauth.Server{Name: "s", URL: open.URL + "/mcp"}, redirect, nil)
	if !errors.Is(err, oauth.ErrNoLogin) {
		t.Errorf("%v", err)
	}
	for _, url := range []string{"http://mcp.example/mcp", "http://192.168.0.7/mcp"} {
		_, err := client(t, nil).Begin(t.Context(), oauth.Server{Name: "s", URL: url}, redirect, nil)
		wantFault(t, err, "requires https")
	}
}

// The browser's answer is accepted only if it belongs to this login.
func TestFinish(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*oauthserver.Behaviour)
		want   string
		state  bool
	}{
		"another state":   {func(b *oauthserver.Behaviour) { b.State = "AAAAAAAAAAAAAAAAAAAAAAAAAA" }, "state", true},
		"no state":        {func(b *oauthserver.Behaviour) { b.State = " " }, "state", true},
		"another issuer":  {func(b *oauthserver.Behaviour) { b.RedirectIssuer = "https://honest.example" }, "nothing was sent", false},
		"no issuer":       {func(b *oauthserver.Behaviour) { b.RedirectIssuer = "-" }, "nothing was sent", false},
		"the person says": {func(b *oauthserver.Behaviour) { b.Denies = true }, "access_denied (the person said no[31m)", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := guarded(t)
			login, err := client(t, nil).Begin(t.Context(), at(s), redirect, nil)
			if err != nil {
				t.Fatal(err)
			}
			s.Behave(tt.change)
			_, err = login.Finish(t.Context(), walk(t, login))
			wantFault(t, err, tt.want)
			if errors.Is(err, oauth.ErrState) != tt.state {
				t.Errorf("%v", err)
			}
			if s.Counts().Codes != 0 {
				t.Error("the code was exchanged")
			}
		})
	}
}

func TestFinish_Replay(t *testing.T) {
	s := guarded(t)
	c := client(t, nil)
	s.Behave(func(b *oauthserver.Behaviour) { b.Echo = true })
	login, err := c.Begin(t.Context(), at(s), redirect, nil)
	if err != nil {
		t.Fatal(err)
	}
	query := walk(t, login)
	if _, err := login.Finish(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	_, err = login.Finish(t.Context(), query)
	wantFault(t, err, "used already")
	// A stolen code is useless in another login, which has another verifier.
	second, err := c.Begin(t.Context(), at(s), redirect, nil)
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := walk(t, second), walk(t, login)
	mine.Set("code", theirs.Get("code"))
	_, err = second.Finish(t.Context(), mine)
	wantFault(t, err, "invalid_grant")
}

func TestCallback(t *testing.T) {
	back, err := oauth.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	taken := make(chan error, 1)
	go func() {
		taken <- back.Wait(t.Context(), func(q url.Values) error {
			if q.Get("state") != "right" {
				return oauth.ErrState
			}
			return errors.New("over")
		})
	}()
	get := func(path string) (int, http.Header) {
		t.Helper()
		resp, err := (&http.Client{Timeout: 10 * time.Second}).Get(strings.TrimSuffix(back.URI(), "/callback") + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode, resp.Header
	}
	for path, want := range map[string]int{"/": 404, "/favicon.ico": 404, "/callback": 400, "/callback?state=wrong&code=x": 400} {
		if got, _ := get(path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if _, h := get("/callback?state=right"); h.Get("Content-Security-Policy") == "" || h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("headers %v", h)
	}
	select {
	case err := <-taken:
		if err == nil || err.Error() != "over" {
			t.Errorf("%v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("still waiting")
	}
	if _, err := oauth.Listen(t.Context(), portOf(t, back.URI())); err == nil {
		t.Error("the port was opened twice")
	}
}

func portOf(t *testing.T, raw string) int {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	var port int
	if _, err := fmt.Sscan(u.Port(), &port); err != nil {
		t.Fatal(err)
	}
	return port
}
