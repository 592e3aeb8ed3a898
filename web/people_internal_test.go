package web

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"molar/agent"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/public"
)

// A fakeOIDC signs ann in, and refuses who comes with another cookie.
type fakeOIDC struct {
	redirect string
	fault    error
	asked    []string
}

func (f *fakeOIDC) Begin(_ context.Context, redirect, to string) (address, kept string, err error) {
	f.redirect = redirect
	return "https://id.example/auth", "kept " + to, f.fault
}

func (f *fakeOIDC) Finish(_ context.Context, kept string, _ url.Values) (session, to string, refusal *httpguard.Refusal, err error) {
	to, ok := strings.CutPrefix(kept, "kept ")
	switch {
	case !ok:
		return "", "", &httpguard.Refusal{Status: http.StatusUnauthorized, Code: "invalid_token", Message: "another attempt"}, nil
	case to == "/nogroup":
		return "", to, &httpguard.Refusal{Status: http.StatusForbidden, Code: "no_group", Message: "no group"}, nil
	}
	return "ann's session", to, nil, nil
}

func (f *fakeOIDC) Bearer(_ context.Context, text string) (schemas.Caller, *httpguard.Refusal) {
	f.asked = append(f.asked, text)
	if text != "ann" && text != "eve" {
		return schemas.Caller{}, &httpguard.Refusal{Status: http.StatusUnauthorized, Code: "invalid_token", Message: "unknown"}
	}
	return schemas.Caller{ID: "oidc:x#" + text, Name: text, Groups: map[string][]string{"ann": {"staff"}}[text]}, nil
}

func (f *fakeOIDC) LogOut(_ context.Context, token string) (*httpguard.Refusal, error) {
	if token != "ann" {
		return &httpguard.Refusal{Status: http.StatusBadRequest, Code: "invalid_token", Message: "unknown"}, nil
	}
	return nil, f.fault
}

func (f *fakeOIDC) Fault() error { return f.fault }

func staffOnly(groups []string) (*schemas.Rights, bool) {
	rights := &schemas.Rights{Groups: []schemas.Group{{Name: "staff", Scopes: []string{"chat"}}}}
	return rights, len(groups) == 1 && groups[0] == "staff"
}

func browse(h http.Handler, target, cookie string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, target, http.NoBody)
	r.RemoteAddr = loopback
	r.Header.Set("Accept", "text/html")
	if cookie != "" {
		r.AddCookie(&http.Cookie{Name: attemptCookieName, Value: cookie, Quoted: true})
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestSignIn_AtProvider(t *testing.T) {
	fake := &fakeOIDC{}
	handler, _ := keyedServer(t, func(c *Config) { c.Access.OIDC, c.Access.Provider, c.Access.Rights = fake, "id", staffOnly })
	res := browse(handler, "http://molar.example:8000/login/oidc?to=https://evil.example", "")
	cookies := res.Cookies()
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "https://id.example/auth" || fake.redirect != "http://molar.example:8000/login/callback" ||
		len(cookies) != 1 || cookies[0].SameSite != http.SameSiteLaxMode || !cookies[0].HttpOnly || cookies[0].Value != "kept /" {
		t.Errorf("begin: %d %v, redirect %q", res.StatusCode, res.Header, fake.redirect)
	}
	for _, tt := range []struct {
		kept     string
		status   int
		location string
		session  bool
		text     string
	}{
		{"kept /tools?x=1", http.StatusOK, "", true, `content="0;url=/tools?x=1"`},
		{`kept //evil.example`, http.StatusOK, "", true, `content="0;url=/"`},
		{"kept /'><script>", http.StatusOK, "", true, `content="0;url=/&#39;&gt;&lt;script&gt;"`},
		{"", http.StatusSeeOther, "/login?fault=failed", false, ""},
		{"kept /nogroup", http.StatusForbidden, "", false, "nhóm"},
	} {
		res := browse(handler, "http://molar.example:8000/login/callback?code=c&state=s", tt.kept)
		var session, gone bool
		for _, c := range res.Cookies() {
			session = session || c.Name == httpguard.SessionCookie && c.Value == "ann's session" && c.SameSite == http.SameSiteStrictMode && c.HttpOnly
			gone = gone || c.Name == attemptCookieName && c.MaxAge < 0
		}
		var body strings.Builder
		_ = res.Write(&body)
		if res.StatusCode != tt.status || res.Header.Get("Location") != tt.location || session != tt.session || !gone || !strings.Contains(body.String(), tt.text) {
			t.Errorf("%q: %d to %q, session %v, attempt gone %v: %s", tt.kept, res.StatusCode, res.Header.Get("Location"), session, gone, body.String())
		}
	}
	fake.fault = errors.New("away")
	if res := browse(handler, "http://molar.example/login/oidc?to=/x", ""); res.Header.Get("Location") != "/login?fault=unavailable&to=%2Fx" {
		t.Errorf("away: %d to %q", res.StatusCode, res.Header.Get("Location"))
	}
	if w := knock(handler, http.MethodGet, "/login/oidc", "", loopback); w.Code != http.StatusServiceUnavailable {
		t.Errorf("away, for a program: %d", w.Code)
	}
	if w := knock(handler, http.MethodGet, "/ready", "", loopback); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "degraded") {
		t.Errorf("ready: %d %s", w.Code, w.Body)
	}
}

// A token of the provider is its person; the text of a key never goes to the provider.
func TestBearer(t *testing.T) {
	fake := &fakeOIDC{}
	handler, _ := keyedServer(t, func(c *Config) { c.Access.OIDC, c.Access.Rights = fake, staffOnly })
	for text, want := range map[string]int{"ann": 200, "eve": 403, "opaque": 401, "mk_unknown": 401, "chat": 200} {
		fake.asked = nil
		r := httptest.NewRequest(http.MethodGet, "/v1/models", http.NoBody)
		r.RemoteAddr = loopback
		r.Header.Set("Authorization", "Bearer "+text)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d %s", text, w.Code, w.Body)
		}
		if isKey := text == "chat" || text == "mk_unknown"; isKey && len(fake.asked) > 0 {
			t.Errorf("the provider was asked about the key %v", fake.asked)
		}
	}
}

// A turn goes on with the rights that its person has now.
func TestMayGoOn_Person(t *testing.T) {
	groups := map[string][]string{"oidc:x#ann": {"staff"}, "oidc:x#eve": {"left"}}
	ring := httpguard.NewKeyring(nil)
	ring.Close()
	s := &server{Config: Config{Access: Access{
		Keys: ring, OIDC: &fakeOIDC{}, Rights: staffOnly,
		GroupsOf: func(_ context.Context, owner string) ([]string, bool, error) {
			found, ok := groups[owner]
			return found, ok, nil
		},
	}}}
	for owner, want := range map[string]bool{"oidc:x#ann": true, "oidc:x#eve": false, "oidc:x#gone": false, "key_1": false, "person:ann": false} {
		turn := agent.Turn{Place: agent.Place{Owner: owner}}
		err := s.mayGoOn(t.Context(), &turn)
		if (err == nil) != want || want && turn.Rights == nil {
			t.Errorf("%s: %v, rights %v", owner, err, turn.Rights)
		}
	}
}

// A visitor's turn goes on with the rights of visitors alone, and only while its assistant is public.
func TestMayGoOn_Visitor(t *testing.T) {
	turn := func(assistant string) agent.Turn {
		return agent.Turn{Assistant: assistant, Visitor: true, Place: agent.Place{Owner: schemas.VisitorOwner("t")}}
	}
	cfg := Config{
		Agent: empty{}, Models: func() []schemas.AssistantInfo { return nil }, Conversations: empty{}, Tools: empty{}, Servers: empty{}, Traces: empty{},
		Guard: func(h http.Handler) http.Handler { return h }, People: nobody{}, Public: &public.Config{
			Assistant: "dental", Count: func(context.Context, []schemas.CountedLimit) (*schemas.LimitRefusal, error) { return nil, nil },
			Secret: []byte("secret"), Keep: 1,
		},
	}
	s, err := newServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for assistant, want := range map[string]bool{"dental": true, "general": false, "": false} {
		turn := turn(assistant)
		err := s.mayGoOn(t.Context(), &turn)
		if (err == nil) != want || want && (turn.Rights == nil || turn.Rights.Assistant("general") || !turn.Rights.Assistant("dental")) {
			t.Errorf("%q: %v, rights %+v", assistant, err, turn.Rights)
		}
	}
	cfg.Public = nil
	if s, err = newServer(cfg); err != nil {
		t.Fatal(err)
	}
	closed := turn("dental")
	if err := s.mayGoOn(t.Context(), &closed); !errors.Is(err, agent.ErrNotContinued) {
		t.Errorf("nothing is public any more: %v", err)
	}
}

// nobody has nothing.
type nobody struct{ PeopleStore }

func (nobody) ExportPerson(context.Context, string) iter.Seq2[schemas.PersonRecord, error] {
	return func(func(schemas.PersonRecord, error) bool) {}
}
