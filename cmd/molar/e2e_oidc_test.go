package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/store/storetest"
	"molar/internal/testkit/models"
	"molar/internal/testkit/npm"
	"molar/schemas"
)

// callbackPath is where the provider sends people back.
const callbackPath = "/login/callback"

// providerConfig lets people sign in at a provider.
func providerConfig(p *npm.Provider) string {
	return "identity: {oidc: {issuer: '" + p.Issuer + "', client_id: molar}}\n"
}

// staffOnly admits one of the groups at the provider.
const staffOnly = "groups:\n  staff: {assistants: [plain]}\n"

// signsIn returns a browser of somebody who signed in at the provider, and the last page that it saw.
func (s *served) signsIn(t *testing.T, p *npm.Provider, login string) (b caller, status int, page string) {
	t.Helper()
	b = caller{t: t, url: s.url, client: npm.Browser(s.client.Transport)}
	res, page, err := p.SignIn(t.Context(), b.client, s.url+"/login/oidc?to=/chat", login)
	if err != nil {
		t.Fatal(err)
	}
	return b, res.StatusCode, page
}

// People sign in at a real identity provider, and each is one person: in browsers and with a token. When
// the provider is away, who is signed in stays so.
func TestServe_SignsInAtAProvider(t *testing.T) {
	t.Parallel()
	p := npm.StartProvider(t, callbackPath)
	model := startModel(t, models.Config{Tool: "none"})
	s := serveHost(t, plainConfig(t, providerConfig(p)+staffOnly), model)

	ann, status, page := s.signsIn(t, p, "staff-ann")
	if status != http.StatusOK || !strings.Contains(page, "url=/chat") {
		t.Fatalf("signed in: %d %s", status, page)
	}
	bob, _, _ := s.signsIn(t, p, "staff-bob")
	who := ann.me()
	if want := "oidc:" + p.Issuer + "#staff-ann"; who.ID != want || who.Name != "Person staff-ann" || !who.Person || !who.Session || !slices.Equal(who.Groups, []string{"staff"}) {
		t.Errorf("ann is %+v, want %s", who, want)
	}
	for b, name := range map[*caller]string{&ann: "ann", &bob: "bob"} {
		if status, text, _ := b.do(http.MethodPost, "/v1/chat/completions", questionBody("plain", "chat_same", "I am "+name, false)); status != http.StatusOK {
			t.Fatalf("%s asks: %d %s", name, status, text)
		}
	}
	for b, names := range map[*caller][2]string{&ann: {"ann", "bob"}, &bob: {"bob", "ann"}} {
		status, text, _ := b.do(http.MethodGet, "/v1/conversations/chat_same", "")
		if status != http.StatusOK || !strings.Contains(text, "I am "+names[0]) || strings.Contains(text, "I am "+names[1]) {
			t.Errorf("%s reads %d %s", names[0], status, text)
		}
	}
	bob.want(http.StatusForbidden, "insufficient_scope", http.MethodGet, "/v1/config", "")

	guest, status, page := s.signsIn(t, p, "guest-eve")
	if status != http.StatusForbidden || !strings.Contains(page, "You are not in a group of this assistant") {
		t.Errorf("without an admitted group: %d %s", status, page)
	}
	guest.want(http.StatusUnauthorized, "invalid_api_key", http.MethodGet, "/v1/me", "")

	program := caller{t: t, url: s.url, client: s.client, key: p.Token(t, "staff-ann")}
	if by := program.me(); by.ID != who.ID || by.Session || !slices.Equal(by.Groups, who.Groups) {
		t.Errorf("her token is %+v", by)
	}
	if _, text, _ := program.do(http.MethodGet, "/v1/conversations/chat_same", ""); !strings.Contains(text, "I am ann") {
		t.Errorf("her program reads %s", text)
	}
	program.with(p.Token(t, "guest-eve")).want(http.StatusForbidden, "no_group", http.MethodGet, "/v1/me", "")
	program.with(program.key+"x").want(http.StatusUnauthorized, "invalid_token", http.MethodGet, "/v1/me", "")

	copied := bob.copied()
	copied.me()
	bob.want(http.StatusOK, "", http.MethodPost, "/logout", "")
	copied.want(http.StatusUnauthorized, "invalid_api_key", http.MethodGet, "/v1/me", "")

	p.Stop()
	begin := caller{t: t, url: s.url, client: npm.Browser(nil)}
	begin.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	eventually(t, "nobody can begin to sign in", func() bool {
		status, _, code := begin.do(http.MethodGet, "/login/oidc", "")
		return status == http.StatusServiceUnavailable && code == "identity_unavailable"
	})
	if status, text, _ := begin.do(http.MethodGet, "/ready", ""); status != http.StatusOK || !strings.Contains(text, `"degraded"`) {
		t.Errorf("ready says %d %s", status, text)
	}
	if status, text, _ := ann.do(http.MethodPost, "/v1/chat/completions", questionBody("plain", "chat_same", "I go on", false)); status != http.StatusOK {
		t.Errorf("without the provider ann gets %d %s", status, text)
	}
}

// Somebody who signs out at the provider, or is removed there, loses their session on each replica within
// two seconds; others keep theirs, and so does the same person in another browser.
func TestServe_SignsOutWithTheProvider(t *testing.T) {
	t.Parallel()
	p := npm.StartProvider(t, callbackPath)
	config := plainConfig(t, providerConfig(p)+staffOnly)
	s, replica := serveHost(t, config, nil), serveHost(t, config, nil)
	ann, _, _ := s.signsIn(t, p, "staff-ann")
	second, _, _ := s.signsIn(t, p, "staff-ann")
	bob, _, _ := s.signsIn(t, p, "staff-bob")
	elsewhere := ann
	elsewhere.url = replica.url
	elsewhere.me()

	form := p.SignOut(t, ann.client)
	tell := func(form string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, replica.url+"/login/backchannel", strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := replica.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	for name, bad := range map[string]string{"changed": form + "x", "empty": "", "an ID token": "logout_token=" + p.Token(t, "staff-ann")} {
		if status := tell(bad); status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, status)
		}
	}
	elsewhere.me()
	start := time.Now()
	if status := tell(form); status != http.StatusOK {
		t.Fatalf("the logout token: %d", status)
	}
	for at, b := range map[string]caller{"here": ann, "at the other replica": elsewhere} {
		eventually(t, "she is signed out "+at, func() bool {
			status, _, _ := b.do(http.MethodGet, "/v1/me", "")
			return status == http.StatusUnauthorized
		})
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
	second.me()
	bob.me()
	if status := tell(form); status != http.StatusBadRequest {
		t.Errorf("the same token again: %d", status)
	}
}

// A meAnswer is the answer to GET /v1/me.
type meAnswer struct {
	ID, Name        string
	Person, Session bool
	Groups          []string
}

func (c caller) me() (m meAnswer) {
	c.t.Helper()
	status, text, _ := c.do(http.MethodGet, "/v1/me", "")
	if err := json.Unmarshal([]byte(text), &m); err != nil || status != http.StatusOK {
		c.t.Fatalf("me: %d %s", status, text)
	}
	return m
}

// copied returns a browser with copies of the cookies, which this one forgets when it signs out.
func (c caller) copied() caller {
	c.t.Helper()
	u, err := url.Parse(c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	cookies := c.client.Jar.Cookies(u)
	c.client = npm.Browser(nil)
	c.client.Jar.SetCookies(u, cookies)
	return c
}

// soon is how long a session still works, at most, after it ended at another replica.
const soon = 2 * time.Second

// at returns the same browser at another replica, for which cookies do not differ.
func (c caller) at(s *served) caller {
	c.url = s.url
	return c
}

// within waits until a browser gets a status, and fails if that takes longer than a session may last.
func (c caller) within(want int, what string) {
	c.t.Helper()
	began := time.Now()
	status := 0
	eventually(c.t, what, func() bool {
		status, _, _ = c.do(http.MethodGet, "/v1/me", "")
		return status == want
	})
	took := time.Since(began)
	c.t.Logf("%s: %s", what, took.Round(time.Millisecond))
	if took > soon {
		c.t.Errorf("%s: after %s, want at most %s", what, took, soon)
	}
}

// A session holds at every replica, and ends at all of them soon after it was ended at one, or after the
// config file stopped to admit the group.
func TestReplicas_Sessions(t *testing.T) {
	t.Parallel()
	p := npm.StartProvider(t, callbackPath)
	store := "default: plain\nllm: {provider: ollama}\nmemory: {store: '" + storetest.StartPostgres(t).Database(t) + "'}\n" + plainAssistant + providerConfig(p)
	file := writeFile(t, "molar.yaml", store+staffOnly+"  sales: {}\n")
	hosts := make([]*served, 3)
	for i := range hosts {
		hosts[i] = serveHost(t, file, nil)
	}
	ann, _, _ := hosts[0].signsIn(t, p, "staff-ann")
	bob, _, _ := hosts[1].signsIn(t, p, "sales-bob")
	cat, _, _ := hosts[2].signsIn(t, p, "staff-cat")
	for _, h := range hosts { // at once: a browser's next request may go to any of them
		for _, b := range []caller{ann, bob, cat} {
			b.at(h).me()
		}
	}

	copied := ann.copied()
	ann.at(hosts[0]).want(http.StatusOK, "", http.MethodPost, "/logout", "")
	for i, h := range hosts[1:] {
		copied.at(h).within(http.StatusUnauthorized, fmt.Sprintf("signed out, at replica %d", i+1))
	}

	var sessions struct{ Data []schemas.Session }
	_, text, _ := cat.do(http.MethodGet, "/v1/account/sessions", "")
	if err := json.Unmarshal([]byte(text), &sessions); err != nil || len(sessions.Data) != 1 {
		t.Fatalf("sessions of cat: %v %s", err, text)
	}
	if code, _, errs := molarCmd(t, "keys", "revoke", sessions.Data[0].ID, "--config", file); code != 0 {
		t.Fatalf("revoke the session: %d %s", code, errs)
	}
	for i, h := range hosts {
		cat.at(h).within(http.StatusUnauthorized, fmt.Sprintf("revoked, at replica %d", i))
	}

	root := caller{t: t, key: makeKeyFor(t, file, "root", "admin")}
	for i, h := range hosts {
		root.client = h.client
		root.at(h).within(http.StatusOK, fmt.Sprintf("the operator's key, at replica %d", i))
		bob.at(h).me()
	}
	dan, _, _ := hosts[0].signsIn(t, p, "staff-dan")
	eve, _, _ := hosts[1].signsIn(t, p, "staff-eve")
	if code, out, errs := molarCmd(t, "people", "signout", dan.me().ID, "--config", file); code != 0 || !strings.Contains(out, "sessions ended: 1") {
		t.Fatalf("sign dan out: %d %s %s", code, out, errs)
	}
	root.client = hosts[2].client
	root.at(hosts[2]).want(http.StatusOK, "", http.MethodDelete, "/v1/people/sessions?id="+url.QueryEscape(eve.me().ID), "")
	for i, h := range hosts {
		dan.at(h).within(http.StatusUnauthorized, fmt.Sprintf("signed out by the operator, at replica %d", i))
		eve.at(h).within(http.StatusUnauthorized, fmt.Sprintf("signed out over the API, at replica %d", i))
	}
	if err := os.WriteFile(file, []byte(store+staffOnly), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, h := range hosts {
		root.at(h).want(http.StatusOK, "", http.MethodPost, "/v1/servers/reload", "")
		bob.at(h).within(http.StatusUnauthorized, fmt.Sprintf("without the group, at replica %d", i))
	}
}

// Who is erased is signed out soon at every replica, before the erasure has answered, which it does. A turn
// of theirs at another replica ends.
func TestReplicas_ErasedSessions(t *testing.T) {
	t.Parallel()
	p := npm.StartProvider(t, callbackPath)
	model := startModel(t, models.Config{Tool: "none", Tokens: 2000, LineEvery: 1, Interval: 20 * time.Millisecond})
	hosts := replicas(t, model, 2, plainAssistant+providerConfig(p)+staffOnly)
	ann, _, _ := hosts[0].signsIn(t, p, "staff-ann")
	bob, _, _ := hosts[0].signsIn(t, p, "staff-bob")
	who := ann.me()
	elsewhere, eraser := ann.copied().at(hosts[1]), ann.copied()
	elsewhere.me()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		began := time.Now()
		_, _, _ = elsewhere.do(http.MethodPost, "/v1/chat/completions", questionBody("plain", "chat_long", "Count", true))
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the turn at another replica ended after %s", took)
		}
	})
	eventually(t, "the turn runs", func() bool { return len(asked(model)) > 0 })
	running.Go(func() {
		if status, text, _ := eraser.do(http.MethodPost, "/v1/account/erase", `{"confirm":"`+who.ID+`"}`); status != http.StatusOK || !strings.Contains(text, `"erased":true`) {
			t.Errorf("erase: %d %s", status, text)
		}
	})
	ann.within(http.StatusUnauthorized, "erased, at the same replica")
	ann.copied().at(hosts[1]).within(http.StatusUnauthorized, "erased, at the other replica")
	bob.me()
}
