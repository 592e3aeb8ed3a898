package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"molar/internal/testkit/models"
	"molar/internal/testkit/npm"
)

// providerConfig lets people sign in at a provider.
func providerConfig(p *npm.Provider) string {
	return "identity: {oidc: {issuer: '" + p.Issuer + "', client_id: molar}}\n"
}

// staffOnly admits one of the groups at the provider.
const staffOnly = "groups: {staff: {assistants: [plain]}}\n"

// signsIn returns a browser of somebody who signed in at the provider, and the last page that it saw.
func (s *served) signsIn(t *testing.T, p *npm.Provider, login string) (b caller, status int, page string) {
	t.Helper()
	b = caller{t: t, url: s.url, client: npm.Browser(s.client.Transport)}
	res, page, err := p.SignIn(b.client, s.url+"/login/oidc?to=/chat", login)
	if err != nil {
		t.Fatal(err)
	}
	return b, res.StatusCode, page
}

// People sign in at a real identity provider, and each is one person: in browsers and with a token. When
// the provider is away, who is signed in stays so.
func TestServe_SignsInAtAProvider(t *testing.T) {
	t.Parallel()
	p := npm.StartProvider(t, "/login/callback")
	model := startModel(t, models.Config{Tool: "none"})
	s := serveHost(t, plainConfig(t, providerConfig(p)+staffOnly), model)

	ann, status, page := s.signsIn(t, p, "staff-ann")
	if status != http.StatusOK || !strings.Contains(page, "url=/chat") {
		t.Fatalf("signed in: %d %s", status, page)
	}
	me := func(b caller) (m struct {
		ID, Name string
		Person   bool
		Session  bool
		Groups   []string
	}) {
		t.Helper()
		status, text, _ := b.do(http.MethodGet, "/v1/me", "")
		if err := json.Unmarshal([]byte(text), &m); err != nil || status != http.StatusOK {
			t.Fatalf("me: %d %s", status, text)
		}
		return m
	}
	t.Log(page, me(ann))
}
