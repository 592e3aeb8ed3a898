package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/cli"
	"molar/internal/httpguard"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
	"molar/schemas"
)

// molarCmd runs a command until it ends, and returns its exit code and output.
func molarCmd(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, lookup(homeEnv(t, nil)), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// makeKeyFor stores a key in the database of a config and returns its text.
func makeKeyFor(t *testing.T, config, name string, scopes ...string) string {
	t.Helper()
	return makeKey(t, config, name, "--scope", strings.Join(scopes, ","))
}

func makeKey(t *testing.T, config, name string, flags ...string) string {
	t.Helper()
	code, out, errs := molarCmd(t, append([]string{"keys", "create", name, "--config", config}, flags...)...)
	if code != cli.OK {
		t.Fatalf("keys create %s: %d %s", name, code, errs)
	}
	return strings.TrimSpace(out)
}

// A caller sends requests with a key, or none.
type caller struct {
	t      *testing.T
	url    string
	key    string
	client *http.Client
}

func (c caller) with(key string) caller {
	c.key = key
	return c
}

// do returns status, body and the code of an OpenAI error object.
func (c caller) do(method, path, body string) (status int, answer, code string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	var fault struct{ Error struct{ Code any } }
	if json.Unmarshal(data, &fault) == nil {
		code, _ = fault.Error.Code.(string)
	}
	return res.StatusCode, string(data), code
}

func (c caller) want(status int, code, method, path, body string) string {
	c.t.Helper()
	got, answer, gotCode := c.do(method, path, body)
	if got != status || gotCode != code {
		c.t.Errorf("%s %s: %d %q, want %d %q: %s", method, path, got, gotCode, status, code, answer)
	}
	return answer
}

func keyedConfig(t *testing.T, more string) string {
	t.Helper()
	return writeFile(t, "molar.yaml", "llm: {provider: offline}\nmcp: {rate: 0}\nmemory: {store: "+filepath.Join(t.TempDir(), "molar.db")+"}\n"+more)
}

func TestKeys_ScopesAndOwners(t *testing.T) {
	t.Parallel()
	config := keyedConfig(t, "")
	ann, bob := makeKeyFor(t, config, "ann", "chat"), makeKeyFor(t, config, "bob", "chat")
	admin, metrics := makeKeyFor(t, config, "root", "admin"), makeKeyFor(t, config, "prom", "metrics")
	s := serveHost(t, config, nil)
	nobody := caller{t: t, url: s.url, client: s.client}
	for _, path := range []string{"/", "/static/chat.js", "/v1/models", "/v1/conversations", "/v1/turns/x", "/v1/tools", "/v1/servers", "/nothing"} {
		nobody.want(401, "invalid_api_key", http.MethodGet, path, "")
		nobody.with("mk_wrong").want(401, "invalid_api_key", http.MethodGet, path, "")
	}
	nobody.want(401, "invalid_api_key", http.MethodPost, "/v1/chat/completions", questionBody("general", "c", "hi", false))
	nobody.want(200, "", http.MethodGet, "/health", "")
	eventually(t, "ready", func() bool { status, _, _ := nobody.do(http.MethodGet, "/ready", ""); return status == 200 })

	a, b := nobody.with(ann), nobody.with(bob)
	a.want(200, "", http.MethodPost, "/v1/chat/completions", questionBody("general", "shared", "What causes tooth decay?", false))
	a.want(403, "insufficient_scope", http.MethodPost, "/v1/servers/reload", "")
	a.want(403, "insufficient_scope", http.MethodGet, "/v1/config", "")
	a.want(403, "insufficient_scope", http.MethodGet, "/v1/audit", "")
	if lines := nobody.with(admin).want(200, "", http.MethodGet, "/v1/audit?person=operator", ""); strings.Count(lines, `"event":"key_created"`) != 4 {
		t.Errorf("the audit of the keys: %s", lines)
	}
	nobody.with(admin).want(200, "", http.MethodPost, "/v1/servers/reload", "")
	nobody.with(admin).want(403, "insufficient_scope", http.MethodGet, "/v1/conversations", "")
	nobody.with(metrics).want(403, "insufficient_scope", http.MethodGet, "/v1/models", "")
	nobody.with(admin).want(403, "insufficient_scope", http.MethodGet, "/metrics", "")

	mine := a.want(200, "", http.MethodGet, "/v1/conversations/shared", "")
	var turns conversation
	if err := json.Unmarshal([]byte(mine), &turns); err != nil || len(turns.Messages) != 2 {
		t.Fatalf("ann's conversation: %v %s", err, mine)
	}
	a.want(200, "", http.MethodGet, "/v1/turns/"+turns.Messages[1].TurnID, "")
	b.want(404, "turn_not_found", http.MethodGet, "/v1/turns/"+turns.Messages[1].TurnID, "")

	// To bob ann's id is like one that is unknown, and stays ann's when he uses it.
	for _, try := range [][3]string{
		{http.MethodGet, "", ""}, {http.MethodPatch, "", `{"title":"x"}`}, {http.MethodPost, "/clear", ""}, {http.MethodDelete, "", ""},
	} {
		got := b.want(404, "conversation_not_found", try[0], "/v1/conversations/shared"+try[1], try[2])
		if unknown := b.want(404, "conversation_not_found", try[0], "/v1/conversations/unknown"+try[1], try[2]); got != unknown {
			t.Errorf("%s: a foreign id answers %s, an unknown one %s", try[0], got, unknown)
		}
	}
	if list := b.want(200, "", http.MethodGet, "/v1/conversations", ""); strings.Contains(list, "shared") {
		t.Errorf("bob lists %s", list)
	}
	b.want(200, "", http.MethodPost, "/v1/chat/completions", questionBody("general", "shared", "Does flossing help?", false))
	if again := a.want(200, "", http.MethodGet, "/v1/conversations/shared", ""); !strings.Contains(again, "What causes") || strings.Contains(again, "Does flossing") {
		t.Errorf("ann's conversation since bob used its id: %s", again)
	}
	if his := b.want(200, "", http.MethodGet, "/v1/conversations/shared", ""); strings.Contains(his, "What causes") {
		t.Errorf("bob's conversation: %s", his)
	}
}

func TestKeys_RevokedWhileServing(t *testing.T) {
	long(t, "a revoked key works for up to a second")
	t.Parallel()
	config := keyedConfig(t, "")
	key := makeKeyFor(t, config, "laptop", "chat")
	s := serveHost(t, config, nil)
	c := caller{t: t, url: s.url, key: key, client: s.client}
	c.want(200, "", http.MethodGet, "/v1/models", "")
	if code, _, errs := molarCmd(t, "keys", "revoke", "laptop", "--config", config); code != cli.OK {
		t.Fatal(errs)
	}
	eventually(t, "the revoked key is refused", func() bool {
		status, _, _ := c.do(http.MethodGet, "/v1/models", "")
		return status == http.StatusUnauthorized
	})
	// The last key is gone, and the port is not open for that.
	c.with("").want(401, "invalid_api_key", http.MethodGet, "/v1/models", "")
	fresh := makeKeyFor(t, config, "phone", "chat")
	eventually(t, "a new key is taken", func() bool {
		status, _, _ := c.with(fresh).do(http.MethodGet, "/v1/models", "")
		return status == http.StatusOK
	})
	if code := s.stop(); code != cli.OK {
		t.Fatal(code)
	}
	if _, list, _ := molarCmd(t, "keys", "list", "--config", config); !strings.Contains(list, "phone") || !strings.Contains(list, "last used") {
		t.Errorf("the last use is not listed: %s", list)
	}
}

func TestKeys_OfTheFile(t *testing.T) {
	t.Parallel()
	text := httpguard.NewKeyText()
	config := keyedConfig(t, "limits: {turns_per_minute: 2}\napi_keys:\n  - {name: team, hash: \""+httpguard.HashOf(text).String()+"\"}\n")
	s := serveHost(t, config, nil)
	c := caller{t: t, url: s.url, key: text, client: s.client}
	body := questionBody("general", "", "hello", false)
	for range 2 {
		c.want(200, "", http.MethodPost, "/v1/chat/completions", body)
	}
	c.want(429, "rate_limit_exceeded", http.MethodPost, "/v1/chat/completions", body)
	c.want(200, "", http.MethodGet, "/v1/models", "")

	// A saved file is taken over: the old key ends, the new one opens.
	next := httpguard.NewKeyText()
	file, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	put(t, config, bytes.ReplaceAll(file, []byte(httpguard.HashOf(text).String()), []byte(httpguard.HashOf(next).String())))
	eventually(t, "the new key of the file is taken", func() bool {
		status, _, _ := c.with(next).do(http.MethodGet, "/v1/models", "")
		return status == http.StatusOK
	})
	c.want(401, "invalid_api_key", http.MethodGet, "/v1/models", "")
}

// What a kept key says about who is behind it counts in its turns: a tool that may change something
// runs for a person, and not for a text that others wrote.
func TestKeys_Manner(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "echo", Args: json.RawMessage(`{"text":"the shop is closed"}`), Tokens: 2})
	config := plainConfig(t, "mcpServers: {bad: {command: "+testkit.Build(t, "molar/internal/testkit/badmcp")+"}}\n")
	tests := []struct {
		name         string
		flags        []string
		system, says string
		runs         bool
	}{
		{name: "person", runs: true},
		{name: "webhook", flags: []string{"--input", "data"}, says: "since nobody can be asked here"},
		{name: "client", system: "Write down what you hear.", says: `Answer "yes"`},
		{name: "own-client", flags: []string{"--system", "trusted"}, system: "Write down what you hear.", runs: true},
		{name: "program", flags: []string{"--ask", "never"}, system: "Write down what you hear.", says: "since nobody can be asked here"},
	}
	keys := map[string]string{}
	for _, tt := range tests {
		keys[tt.name] = makeKey(t, config, tt.name, tt.flags...)
	}
	s := serveHost(t, config, model)
	for _, tt := range tests {
		messages := []map[string]string{{"role": "user", "content": "Echo that the shop is closed"}}
		if tt.system != "" {
			messages = append([]map[string]string{{"role": "system", "content": tt.system}}, messages...)
		}
		body, _ := json.Marshal(map[string]any{"model": "plain", "messages": messages, "molar": map[string]bool{"events": true}})
		_, answer, _ := caller{t: t, url: s.url, key: keys[tt.name], client: s.client}.do(http.MethodPost, "/v1/chat/completions", string(body))
		var c chunk
		if err := json.Unmarshal([]byte(answer), &c); err != nil || len(c.Choices) != 1 || c.Molar == nil || len(c.Molar.Results) != 1 {
			t.Fatalf("%s: %v: %s", tt.name, err, answer)
		}
		if runs := !c.Molar.Results[0].Result.IsError; runs != tt.runs || !strings.Contains(c.Choices[0].Message.Content, tt.says) {
			t.Errorf("%s: the tool ran: %v, and it said: %s", tt.name, runs, answer)
		}
	}
}

// The printed link signs a browser in, once; the session is a key that owns its conversations.
func TestKeys_SignIn(t *testing.T) {
	t.Parallel()
	config := keyedConfig(t, "")
	ann := makeKeyFor(t, config, "ann", "chat")
	s := serveHost(t, config, nil)
	_, rest, _ := strings.Cut(s.stdout.wait(t, "/?token=", nil), "open ")
	link, _, _ := strings.Cut(rest, " ")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: s.client.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	visit := func(client *http.Client, address string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/html")
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return res
	}
	if res := visit(browser, s.url+"/"); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/login" {
		t.Errorf("without the link: %d to %q", res.StatusCode, res.Header.Get("Location"))
	}
	if res := visit(browser, s.url+"/?token=wrong"); res.Header.Get("Location") != "/login?fault=invalid_token" || len(res.Cookies()) > 0 {
		t.Errorf("with a wrong token: %d to %q", res.StatusCode, res.Header.Get("Location"))
	}
	res := visit(browser, link)
	cookie := res.Header.Get("Set-Cookie")
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/" ||
		!strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || !strings.Contains(cookie, "Path=/") {
		t.Fatalf("the link: %d, %v", res.StatusCode, res.Header)
	}
	if res := visit(browser, s.url+"/"); res.StatusCode != http.StatusOK {
		t.Errorf("the page, signed in: %d", res.StatusCode)
	}
	if res := visit(s.client, link); res.Request.URL.String() != s.url+"/login?fault=invalid_token" || len(res.Cookies()) > 0 {
		t.Errorf("the link works a second time: %d at %s", res.StatusCode, res.Request.URL)
	}
	operator := caller{t: t, url: s.url, client: browser}
	operator.want(200, "", http.MethodPost, "/v1/chat/completions", questionBody("general", "op", "What is caries?", false))
	operator.want(200, "", http.MethodPost, "/v1/servers/reload", "")
	operator.want(200, "", http.MethodGet, "/v1/conversations/op", "")
	caller{t: t, url: s.url, key: ann, client: s.client}.want(404, "conversation_not_found", http.MethodGet, "/v1/conversations/op", "")
	session, _, _ := strings.Cut(strings.TrimPrefix(cookie, "molar_session="), ";")
	caller{t: t, url: s.url, key: session, client: s.client}.want(401, "invalid_api_key", http.MethodGet, "/v1/models", "")
	_, token, _ := strings.Cut(link, "token=")
	for what, secret := range map[string]string{"token": token, "session": session, "key": ann} {
		if strings.Contains(s.stderr.String(), secret) {
			t.Errorf("the log holds the %s", what)
		}
	}
}

// A key is needed before others can reach a port, and then one is enough.
func TestKeys_OffLoopback(t *testing.T) {
	t.Parallel()
	config := keyedConfig(t, "")
	for _, command := range []string{"serve", "mcp"} {
		code, out, errs := molarCmd(t, command, "--config", config, "--listen", "0.0.0.0:0")
		if code != cli.Misuse || out != "" || !strings.Contains(errs, "refusing to listen on 0.0.0.0:0 without API keys: make one with molar keys create") {
			t.Errorf("%s without keys: %d %q %q", command, code, out, errs)
		}
	}
	key := makeKeyFor(t, config, "ann", "chat")
	s := serveHost(t, config, nil, "--listen", "0.0.0.0:0")
	_, port, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), "]:")
	if port == "" {
		_, port, _ = strings.Cut(strings.TrimPrefix(s.url, "http://"), ":")
	}
	c := caller{t: t, url: "http://127.0.0.1:" + port, client: s.client}
	c.want(401, "invalid_api_key", http.MethodGet, "/v1/models", "")
	c.with(key).want(200, "", http.MethodGet, "/v1/models", "")
	if !strings.Contains(s.stderr.String(), "off loopback without TLS") {
		t.Error("no word about TLS")
	}
	s.stdout.wait(t, "open http://127.0.0.1:"+port+"/?token=", nil)
}

// A host whose memory is elsewhere speaks for its own keys' owners there, with a key
// of scope host; a key of another scope does not get that far.
func TestKeys_MemoryElsewhere(t *testing.T) {
	t.Parallel()
	far := keyedConfig(t, "")
	office, guest := makeKeyFor(t, far, "office", "host"), makeKeyFor(t, far, "guest", "chat")
	m := serveAlone(t, far, "127.0.0.1:0")
	near := writeFile(t, "near.yaml", "llm: {provider: offline}\nstate: "+filepath.Join(t.TempDir(), "state.db")+
		"\nmemory: {url: \""+m.url+"\", key: \""+office+"\"}\n")
	ann, bob := makeKeyFor(t, near, "ann", "chat"), makeKeyFor(t, near, "bob", "chat")
	s := serveHost(t, near, nil)
	a := caller{t: t, url: s.url, key: ann, client: s.client}
	answer := a.want(200, "", http.MethodPost, "/v1/chat/completions", questionBody("general", "far", "What causes tooth decay?", false))
	if !strings.Contains(answer, `"saved":true`) {
		t.Errorf("not saved: %s", answer)
	}
	a.want(200, "", http.MethodGet, "/v1/conversations/far", "")
	a.with(bob).want(404, "conversation_not_found", http.MethodGet, "/v1/conversations/far", "")

	rpc := caller{t: t, url: m.url, client: s.client}
	all := `{"jsonrpc":"2.0","id":1,"method":"memory-server/memory/get_all_messages","params":{"conversation_id":"far"}}`
	rpc.want(401, "invalid_api_key", http.MethodPost, "/jsonrpc", all)
	var got struct {
		Result struct{ Messages []schemas.StoredMessage }
	}
	for key, count := range map[string]int{guest: 0, office: 2} {
		if err := json.Unmarshal([]byte(rpc.with(key).want(200, "", http.MethodPost, "/jsonrpc", all)), &got); err != nil || len(got.Result.Messages) != count {
			t.Errorf("a key reads %d messages, want %d: %v", len(got.Result.Messages), count, err)
		}
	}
}

// A link of a key, made while serve runs, signs a browser in as that key; the session ends everywhere when
// the person signs out, and with the key.
func TestKeys_Link(t *testing.T) {
	t.Parallel()
	config := keyedConfig(t, "")
	ann := makeKeyFor(t, config, "ann", "chat")
	s, other := serveHost(t, config, nil), serveHost(t, config, nil)
	program := caller{t: t, url: s.url, key: ann, client: s.client}
	program.want(200, "", http.MethodPost, "/v1/chat/completions", questionBody("general", "mine", "What is caries?", false))
	signIn := func() (here, there caller) {
		t.Helper()
		code, out, errs := molarCmd(t, "keys", "link", "ann", "--config", config)
		if code != cli.OK {
			t.Fatalf("keys link: %d %s", code, errs)
		}
		_, token, _ := strings.Cut(strings.TrimSpace(out), "/?token=")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/?token="+token, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.client.Transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if len(res.Cookies()) != 1 {
			t.Fatalf("the link: %d, cookies %v", res.StatusCode, res.Cookies())
		}
		client := &http.Client{Transport: withCookie{res.Cookies()[0], s.client.Transport}}
		return caller{t: t, url: s.url, client: client}, caller{t: t, url: other.url, client: client}
	}
	ended := func(who caller) {
		t.Helper()
		eventually(t, "the session ends", func() bool {
			status, _, _ := who.do(http.MethodGet, "/v1/me", "")
			return status == http.StatusUnauthorized
		})
	}
	here, there := signIn()
	here.want(200, "", http.MethodGet, "/v1/conversations/mine", "")
	eventually(t, "the session is known to the other replica", func() bool { status, _, _ := there.do(http.MethodGet, "/v1/me", ""); return status == http.StatusOK })
	here.want(403, "insufficient_scope", http.MethodGet, "/v1/config", "")
	here.want(200, "", http.MethodPost, "/logout", "")
	here.want(401, "invalid_api_key", http.MethodGet, "/v1/me", "")
	ended(there)
	here, _ = signIn()
	if code, _, errs := molarCmd(t, "keys", "revoke", "ann", "--config", config); code != cli.OK {
		t.Fatalf("keys revoke: %d %s", code, errs)
	}
	ended(here)
}

// withCookie sends a cookie with each request.
type withCookie struct {
	cookie *http.Cookie
	next   http.RoundTripper
}

func (c withCookie) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.AddCookie(c.cookie)
	return c.next.RoundTrip(r)
}
