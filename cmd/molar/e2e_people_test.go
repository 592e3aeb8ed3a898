package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"molar/internal/testkit/fakemodel"
)

// behindProxy asks as the proxy does that signed these people in.
func (s *served) behindProxy(t *testing.T, method, path, text string, people ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, name := range people {
		req.Header.Add("X-Forwarded-User", name)
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode, body(t, res)
}

// A proxy names people: each has conversations and limits of their own and none of an
// operator's rights, and who is named by nobody is refused.
func TestServe_People(t *testing.T) {
	t.Parallel()
	model := startModel(t, fakemodel.Config{Tool: "none"})
	s := serveHost(t, plainConfig(t, "identity: {header: X-Forwarded-User}\ntrusted_proxies: [127.0.0.1]\nlimits: {turns_per_minute: 2}\n"), model)
	for _, name := range []string{"ann", "bob"} {
		if code, text := s.behindProxy(t, http.MethodPost, "/v1/chat/completions", questionBody("plain", "chat_same", "I am "+name, false), name); code != http.StatusOK {
			t.Fatalf("%s: %d %s", name, code, text)
		}
	}
	for _, name := range []string{"ann", "bob"} {
		code, text := s.behindProxy(t, http.MethodGet, "/v1/conversations/chat_same", "", name)
		if code != http.StatusOK || strings.Count(text, "I am ") < 1 || strings.Contains(text, map[string]string{"ann": "I am bob", "bob": "I am ann"}[name]) {
			t.Errorf("%s reads %d %s", name, code, text)
		}
	}
	last := 0
	for range 2 {
		last, _ = s.behindProxy(t, http.MethodPost, "/v1/chat/completions", questionBody("plain", "", "more", false), "ann")
	}
	other, _ := s.behindProxy(t, http.MethodPost, "/v1/chat/completions", questionBody("plain", "", "more", false), "bob")
	if last != http.StatusTooManyRequests || other != http.StatusOK {
		t.Errorf("after their limit ann gets %d, and bob %d", last, other)
	}
	for _, c := range []struct {
		method, path string
		people       []string
		want         int
	}{
		{http.MethodGet, "/v1/models", nil, http.StatusUnauthorized},
		{http.MethodGet, "/v1/models", []string{"ann"}, http.StatusOK},
		{http.MethodGet, "/v1/models", []string{"ann", "bob"}, http.StatusBadRequest},
		{http.MethodGet, "/v1/models", []string{" "}, http.StatusBadRequest},
		{http.MethodGet, "/v1/models", []string{strings.Repeat("a", 300)}, http.StatusBadRequest},
		{http.MethodGet, "/v1/config", []string{"ann"}, http.StatusForbidden},
		{http.MethodGet, "/health", nil, http.StatusOK},
	} {
		if code, text := s.behindProxy(t, c.method, c.path, "", c.people...); code != c.want {
			t.Errorf("%s for %q: %d %s, want %d", c.path, c.people, code, text, c.want)
		}
	}
}

// The header counts from a proxy alone, and a config that trusts none is refused.
func TestServe_PeopleOfStrangers(t *testing.T) {
	t.Parallel()
	s := serveHost(t, plainConfig(t, "identity: {header: X-Forwarded-User}\ntrusted_proxies: [10.0.0.1]\n"), nil)
	if code, text := s.behindProxy(t, http.MethodGet, "/v1/models", "", "ann"); code != http.StatusUnauthorized {
		t.Errorf("a stranger who says ann: %d %s", code, text)
	}
	code, _, errs := molarCmd(t, "serve", "--listen", "127.0.0.1:0", "--config", plainConfig(t, "identity: {header: X-Forwarded-User}\n"))
	if code == 0 || !strings.Contains(errs, "identity.header: want trusted_proxies beside it") {
		t.Errorf("without a proxy: %d %s", code, errs)
	}
}

// The limit of a key holds over all replicas.
func TestReplicas_Limit(t *testing.T) {
	t.Parallel()
	const limit = 20
	model := startModel(t, fakemodel.Config{Tool: "none", Tokens: 2})
	hosts := replicas(t, model, 3, plainAssistant+fmt.Sprintf("identity: {header: X-Forwarded-User}\ntrusted_proxies: [127.0.0.1]\nlimits: {turns_per_minute: %d}\n", limit))
	passed, began := 0, time.Now()
	for i := range 3 * limit {
		code, text := hosts[i%3].behindProxy(t, http.MethodPost, "/v1/chat/completions", questionBody("plain", "", "more", false), "ann")
		switch code {
		case http.StatusOK:
			passed++
		case http.StatusTooManyRequests:
		default:
			t.Fatalf("%d %s", code, text)
		}
		if code == http.StatusTooManyRequests && passed >= limit {
			break
		}
	}
	back := int(time.Since(began).Minutes()*limit) + 1 // what time gave back meanwhile
	if passed < limit || passed > limit+back {
		t.Errorf("%d turns began, and the limit is %d", passed, limit)
	}
}
