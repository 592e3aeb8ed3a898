package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"molar/internal/cli"
	"molar/internal/testkit/models"
)

// behindProxy sends a request as the proxy sends it after these people signed in there.
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

// A proxy names people: each person has separate conversations and limits and none of an
// operator's rights, and a request without a name is refused.
func TestServe_People(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none"})
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
	if code == 0 || !strings.Contains(errs, "identity.header: requires trusted_proxies") {
		t.Errorf("without a proxy: %d %s", code, errs)
	}
}

// The limit of a key holds over all replicas.
func TestReplicas_Limit(t *testing.T) {
	t.Parallel()
	const limit = 20
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
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

// A loopback address is the operator's only without a proxy: not when a setting or the host name
// shows one, and not for a request with a header of one.
func TestServe_StrangersBehindAProxy(t *testing.T) {
	t.Parallel()
	const (
		conversations = "/v1/conversations/chat_first"
		question      = "I tell you something private."
	)
	tests := []struct {
		name, config string
		header       string
		code         string
		local        int // what a request of this machine gets
		said         string
	}{
		{
			name: "the proxy is named", config: "trusted_proxies: [127.0.0.1]\n", header: "X-Forwarded-For",
			code: "invalid_api_key", local: http.StatusUnauthorized, said: "trusted_proxies allows access through a proxy",
		},
		{
			name: "the host name is a stranger's", config: "allowed_hosts: [localhost, chat.clinic.example]\n", header: "X-None",
			code: "invalid_api_key", local: http.StatusUnauthorized, said: `allowed_hosts "chat.clinic.example" allows access through a proxy`,
		},
		{name: "X-Forwarded-For", header: "X-Forwarded-For", code: "proxy_without_key", local: http.StatusOK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serveHost(t, keyedConfig(t, tt.config), nil)
			local := caller{t: t, url: s.url, client: s.client}
			if status, _, _ := local.do(http.MethodPost, "/v1/chat/completions", questionBody("general", "chat_first", question, false)); status != tt.local {
				t.Errorf("a request of this machine: %d, want %d", status, tt.local)
			}
			for _, c := range []struct{ method, path, body string }{
				{http.MethodGet, conversations, ""},
				{http.MethodDelete, conversations, ""},
				{http.MethodGet, "/v1/config", ""},
				{http.MethodGet, "/v1/calls", ""},
				{http.MethodGet, "/v1/knowledge", ""},
				{http.MethodGet, "/v1/knowledge/dental_guide_search/document?file=vi/people.md", ""},
				{http.MethodGet, "/knowledge/dental_guide_search/vi/people.md", ""},
				{http.MethodGet, "/v1/audit", ""},
				{http.MethodGet, "/metrics", ""},
				{http.MethodGet, "/", ""},
				{http.MethodGet, "/v1/responses", ""}, // where a WebSocket begins
				{http.MethodPost, "/v1/servers/reload", ""},
				{http.MethodPatch, "/v1/tools/tool-server__dental_guide_search", `{"disabled": true}`},
				{http.MethodPost, "/v1/chat/completions", questionBody("general", "", "x", false)},
			} {
				through := caller{t: t, url: s.url, client: &http.Client{Transport: proxied{s.client.Transport, tt.header}}}
				if answer := through.want(http.StatusUnauthorized, tt.code, c.method, c.path, c.body); strings.Contains(answer, question) {
					t.Errorf("%s %s gives the conversation: %s", c.method, c.path, answer)
				}
			}
			if tt.said == "" {
				return
			}
			out := s.stdout.wait(t, tt.said, nil)
			if _, link, ok := strings.Cut(out, "open http://"); !ok || !strings.Contains(link, "/?token=") {
				t.Errorf("no link is printed:\n%s", out)
			}
		})
	}
}

// A proxied transport adds the header that a proxy adds.
type proxied struct {
	http.RoundTripper
	header string
}

func (p proxied) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(p.header, "203.0.113.7")
	return p.RoundTripper.RoundTrip(r)
}

// The MCP port has neither pages nor people, so behind a proxy it requires a key before it
// listens.
func TestMCP_StrangersBehindAProxy(t *testing.T) {
	t.Parallel()
	config := keyedConfig(t, "trusted_proxies: [127.0.0.1]\n")
	code, _, errs := molarCmd(t, "mcp", "--config", config, "--listen", "127.0.0.1:0")
	if code != cli.Misuse || !strings.Contains(errs, "trusted_proxies allows access through a proxy: make one with molar keys create NAME") {
		t.Errorf("without keys: %d %q", code, errs)
	}
	m := serveAlone(t, keyedConfig(t, ""), "127.0.0.1:0")
	for _, header := range []string{"X-Forwarded-For", "CF-Connecting-IP"} {
		through := caller{t: t, url: m.url, client: &http.Client{Transport: proxied{http.DefaultTransport, header}}}
		for _, c := range []struct{ method, path string }{
			{http.MethodPost, "/jsonrpc"}, {http.MethodPost, "/mcp"}, {http.MethodPost, "/mcp/memory-server"}, {http.MethodGet, "/servers"},
		} {
			through.want(http.StatusUnauthorized, "proxy_without_key", c.method, c.path, map[string]string{http.MethodPost: `{"jsonrpc":"2.0","id":1,"method":"memory/list"}`}[c.method])
		}
	}
}
