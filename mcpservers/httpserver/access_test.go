package httpserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"molar/internal/httpguard"
	"molar/mcpservers/httpserver"
)

// keys returns keys for two people who chat (ann and bob), a host, and a reader of metrics.
func keys() (*httpguard.Keyring, []httpguard.Key) {
	all := []httpguard.Key{
		{ID: "k_ann", Owner: "k_ann", Hash: httpguard.HashOf("ann"), Scopes: []string{"chat"}},
		{ID: "k_bob", Owner: "k_bob", Hash: httpguard.HashOf("bob"), Scopes: []string{"chat"}},
		{ID: "k_host", Owner: "k_host", Hash: httpguard.HashOf("host"), Scopes: []string{"host"}},
		{ID: "k_prom", Owner: "k_prom", Hash: httpguard.HashOf("prom"), Scopes: []string{"metrics"}},
	}
	ring := httpguard.NewKeyring(nil)
	ring.Set(all)
	return ring, all
}

// callAs calls a method at /jsonrpc with a key and returns the answer.
func callAs(t testing.TB, url, key, method, params string) string {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"memory-server/` + method + `","params":` + params + `}`
	status, _, answer := send(t, http.MethodPost, url+"/jsonrpc", body, "Authorization", "Bearer "+key)
	if status != http.StatusOK {
		t.Errorf("%s %s: %d %s", key, method, status, answer)
	}
	return answer
}

func TestKeys_AreNeeded(t *testing.T) {
	ring, _ := keys()
	url := start(t, httpserver.Config{Keys: ring})
	for _, path := range []string{"/jsonrpc", "/mcp", "/mcp/memory-server", "/mcp/tool-server", "/servers", "/servers/memory-server/capabilities", "/nothing"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			for key, want := range map[string]int{"": 401, "eve": 401, "prom": 403} {
				body := ""
				if method == http.MethodPost {
					body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
				}
				status, head, answer := send(t, method, url+path, body, "X-Api-Key", key)
				if status != want || (want == 401) != (head.Get("WWW-Authenticate") != "") {
					t.Errorf("%s %s with key %q: %d %s", method, path, key, status, answer)
				}
			}
		}
	}
	if status, _, _ := send(t, http.MethodGet, url+"/health", ""); status != http.StatusOK {
		t.Errorf("/health: %d", status)
	}
}

// Every method that names a conversation applies to the key's own conversations: another key's
// conversation is as unknown as an id that does not exist.
func TestKeys_SeeTheirOwnConversations(t *testing.T) {
	ring, _ := keys()
	url := start(t, httpserver.Config{Keys: ring})
	add := func(key, text string) {
		callAs(t, url, key, "memory/add_message", `{"conversation_id":"theirs","role":"user","content":"`+text+`"}`)
	}
	add("ann", "ANN-SECRET")
	callAs(t, url, "ann", "memory/set_summary", `{"conversation_id":"theirs","summary":"ANN-SECRET"}`)
	for _, try := range [][2]string{
		{"memory/get_context", `{"conversation_id":"ID"}`},
		{"memory/get_all_messages", `{"conversation_id":"ID"}`},
		{"memory/get_all_messages", `{"conversation_id":"ID","full":true}`},
		{"memory/get_old_messages", `{"conversation_id":"ID"}`},
		{"memory/get_summary", `{"conversation_id":"ID"}`},
		{"memory/get_or_create_summary", `{"conversation_id":"ID"}`},
		{"memory/set_summary", `{"conversation_id":"ID","summary":"x"}`},
		{"memory/clear", `{"conversation_id":"ID"}`},
		{"memory/delete", `{"conversation_id":"ID"}`},
		{"memory/rename", `{"conversation_id":"ID","title":"x"}`},
		{"memory/list", `{}`},
		{"memory/list", `{"q":"ANN"}`},
		{"resources/list", `{}`},
		{"resources/read", `{"uri":"memory://conversation/ID"}`},
	} {
		foreign := callAs(t, url, "bob", try[0], strings.ReplaceAll(try[1], "ID", "theirs"))
		unknown := callAs(t, url, "bob", try[0], strings.ReplaceAll(try[1], "ID", "unknown"))
		if strings.ReplaceAll(unknown, "unknown", "theirs") != foreign ||
			strings.Contains(foreign, "SECRET") {
			t.Errorf("%s: the id of another key answers %s, an unknown one %s", try[0], foreign, unknown)
		}
	}
	// Using the same id creates a second conversation, which is bob's.
	callAs(t, url, "bob", "memory/get_or_create", `{"conversation_id":"theirs"}`)
	begun := callAs(t, url, "bob", "memory/begin_turn", `{"conversation_id":"theirs"}`)
	if strings.Contains(begun, "SECRET") {
		t.Errorf("begin_turn: %s", begun)
	}
	add("bob", "from bob")
	if got := callAs(t, url, "ann", "memory/get_all_messages", `{"conversation_id":"theirs"}`); !strings.Contains(got, "ANN-SECRET") || strings.Contains(got, "bob") {
		t.Errorf("ann reads %s", got)
	}
	if got := callAs(t, url, "bob", "memory/get_all_messages", `{"conversation_id":"theirs"}`); strings.Contains(got, "SECRET") || !strings.Contains(got, "from bob") {
		t.Errorf("bob reads %s", got)
	}
	for _, path := range []string{"/servers", "/servers/memory-server/capabilities"} {
		callAs(t, url, "ann", "memory/get_or_create", `{"conversation_id":"only-anns"}`)
		if _, _, answer := send(t, http.MethodGet, url+path, "", "X-Api-Key", "bob"); strings.Contains(answer, "only-anns") || !strings.Contains(answer, "memory://conversation/theirs") {
			t.Errorf("GET %s: %s", path, answer)
		}
	}
}

func TestKeys_OnlyAHostNamesOwners(t *testing.T) {
	ring, _ := keys()
	url := start(t, httpserver.Config{Keys: ring})
	callAs(t, url, "ann", "memory/add_message", `{"conversation_id":"c","role":"user","content":"hello"}`)
	for _, owner := range []string{"k_ann", "", "x"} {
		got := callAs(t, url, "host", "memory/get_all_messages", `{"conversation_id":"c","owner":"`+owner+`"}`)
		if strings.Contains(got, "hello") != (owner != "x") {
			t.Errorf("a host for %q reads %s", owner, got)
		}
	}
	if got := callAs(t, url, "bob", "memory/get_all_messages", `{"conversation_id":"c","owner":"k_ann"}`); !strings.Contains(got, "-32602") || !strings.Contains(got, "scope host") {
		t.Errorf("bob for ann: %s", got)
	}
	for _, owner := range []string{"k_bob", ""} { // a host that uses a plain key sends no owner
		if got := callAs(t, url, "bob", "memory/get_all_messages", `{"conversation_id":"c","owner":"`+owner+`"}`); !strings.Contains(got, `"messages":[]`) {
			t.Errorf("bob for %q: %s", owner, got)
		}
	}
	if got := callAs(t, url, "ann", "memory/claim_summaries", `{}`); !strings.Contains(got, "-32600") || !strings.Contains(got, "scope host") {
		t.Errorf("ann claims summaries: %s", got)
	}
	if got := callAs(t, url, "host", "memory/claim_summaries", `{}`); !strings.Contains(got, "items") {
		t.Errorf("a host claims summaries: %s", got)
	}
	for _, params := range []string{`[]`, `{"conversation_id":"c","owner":1}`, `{"conversation_id":"c","Owner":"k_ann"}`} {
		if got := callAs(t, url, "bob", "memory/get_all_messages", params); !strings.Contains(got, "-32602") {
			t.Errorf("%s: %s", params, got)
		}
	}
	batch := `[{"jsonrpc":"2.0","id":1,"method":"memory-server/memory/get_all_messages","params":{"conversation_id":"c"}},
		{"jsonrpc":"2.0","id":2,"method":"memory-server/memory/get_all_messages","params":{"conversation_id":"c","owner":"k_ann"}}]`
	if _, _, got := send(t, http.MethodPost, url+"/jsonrpc", batch, "X-Api-Key", "bob"); strings.Contains(got, "hello") {
		t.Errorf("a batch: %s", got)
	}
}

func keyed(t *testing.T, url, key string) transport.Interface {
	t.Helper()
	wire, err := transport.NewStreamableHTTP(url+"/mcp", transport.WithContinuousListening(),
		transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + key}))
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func read(t *testing.T, c *client.Client, uri string) (string, error) {
	t.Helper()
	req := mcp.ReadResourceRequest{}
	req.Params.URI = uri
	got, err := c.ReadResource(t.Context(), req)
	return fmt.Sprint(got), err
}

// The prompts of the memory server are available over plain JSON-RPC, and read what their caller
// may read.
func TestKeys_PromptsOverJSONRPC(t *testing.T) {
	ring, _ := keys()
	url := start(t, httpserver.Config{Keys: ring})
	callAs(t, url, "ann", "memory/add_message", `{"conversation_id":"c","role":"user","content":"ANN-SECRET"}`)
	if list := callAs(t, url, "bob", "prompts/list", `{}`); !strings.Contains(list, "summarise-conversation") || !strings.Contains(list, "dental-consult") {
		t.Errorf("the list is %s", list)
	}
	const get = `{"name":"summarise-conversation","arguments":{"conversation_id":"c"}}`
	if got := callAs(t, url, "ann", "prompts/get", get); !strings.Contains(got, "ANN-SECRET") {
		t.Errorf("ann gets %s", got)
	}
	if got := callAs(t, url, "bob", "prompts/get", get); strings.Contains(got, "ANN-SECRET") || !strings.Contains(got, "-32602") {
		t.Errorf("bob gets %s", got)
	}
	if got := callAs(t, url, "bob", "prompts/get", `{"name":"summarise-conversation","arguments":{"conversation_id":"c"},"owner":"k_ann"}`); strings.Contains(got, "ANN-SECRET") {
		t.Errorf("bob gets as ann: %s", got)
	}
}

// The same applies to standard MCP, including prompts, subscriptions and sessions.
func TestKeys_OverMCP(t *testing.T) {
	ring, all := keys()
	url := start(t, httpserver.Config{Keys: ring})
	ann, annHeard := attach(t, keyed(t, url, "ann"), mcp.LATEST_LEGACY_PROTOCOL_VERSION)
	bob, bobHeard := attach(t, keyed(t, url, "bob"), mcp.LATEST_LEGACY_PROTOCOL_VERSION)
	for _, c := range []*client.Client{ann, bob} {
		sub := mcp.SubscribeRequest{}
		sub.Params.URI = "memory://conversation/c"
		if err := c.Subscribe(t.Context(), sub); err != nil {
			t.Fatal(err)
		}
	}
	callAs(t, url, "ann", "memory/add_message", `{"conversation_id":"c","role":"user","content":"ANN-SECRET"}`)
	hear(t, annHeard)
	callAs(t, url, "host", "memory/add_message", `{"conversation_id":"c","role":"user","content":"x","owner":"k_ann"}`)
	hear(t, annHeard)

	if got, err := read(t, ann, "memory://conversation/c"); err != nil || !strings.Contains(got, "ANN-SECRET") {
		t.Errorf("ann reads %s, %v", got, err)
	}
	if got, err := read(t, bob, "memory://conversation/c"); err == nil {
		t.Errorf("bob reads %s", got)
	}
	if list, err := bob.ListResources(t.Context(), mcp.ListResourcesRequest{}); err != nil || len(list.Resources) != 0 {
		t.Errorf("bob lists %v, %v", list, err)
	}
	prompt := mcp.GetPromptRequest{}
	prompt.Params.Name, prompt.Params.Arguments = "summarise-conversation", map[string]string{"conversation_id": "c"}
	if got, err := ann.GetPrompt(t.Context(), prompt); err != nil || !strings.Contains(fmt.Sprint(got), "ANN-SECRET") {
		t.Errorf("ann's prompt: %v, %v", got, err)
	}
	if got, err := bob.GetPrompt(t.Context(), prompt); err == nil {
		t.Errorf("bob's prompt: %v", got)
	}
	if err := bob.Ping(t.Context()); err != nil || len(bobHeard) != 0 {
		t.Errorf("bob heard of ann's conversation (%d), %v", len(bobHeard), err)
	}

	// A session belongs to its key: for other keys it is unknown, whatever the request.
	session := ann.GetSessionId()
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		body := ""
		if method == http.MethodPost {
			body = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		}
		status, _, answer := send(t, method, url+"/mcp", body, "X-Api-Key", "bob", "Mcp-Session-Id", session)
		if status != http.StatusNotFound {
			t.Errorf("%s in the session of another key: %d %s", method, status, answer)
		}
	}
	if err := ann.Ping(t.Context()); err != nil {
		t.Errorf("ann's session is gone: %v", err)
	}

	// A stream ends when its key is revoked.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/mcp", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Accept": "text/event-stream", "X-Api-Key": "bob"} {
		req.Header.Set(name, value)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("a stream: %v %v", res, err)
	}
	defer res.Body.Close()
	ring.Set([]httpguard.Key{all[0], all[2]})
	if _, err := io.Copy(io.Discard, res.Body); ctx.Err() != nil {
		t.Errorf("the stream of the revoked key went on: %v", err)
	}
}

func TestLimit_IsForEachKeyOnEveryPath(t *testing.T) {
	ring, _ := keys()
	now := noon
	handler := open(t, httpserver.Config{Keys: ring, Now: func() time.Time { return now }})
	call := func(path, key string) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(`{"jsonrpc":"2.0","method":"ping","id":9}`))
		r.Header.Set("X-Api-Key", key)
		handler.ServeHTTP(w, r)
		if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		return w.Code
	}
	for _, path := range []string{"/jsonrpc", "/mcp", "/mcp/memory-server", "/mcp/tool-server"} {
		now = now.Add(time.Minute)
		for range 100 {
			if code := call(path, "ann"); code == http.StatusTooManyRequests {
				t.Fatalf("%s: too early", path)
			}
		}
		if code := call(path, "ann"); code != http.StatusTooManyRequests {
			t.Errorf("%s: call 101: %d", path, code)
		}
		if code := call(path, "bob"); code == http.StatusTooManyRequests {
			t.Errorf("%s: another key of the same address is refused", path)
		}
		for range 200 {
			if code := call(path, "host"); code == http.StatusTooManyRequests {
				t.Fatalf("%s: a host is limited", path)
			}
		}
		for range 100 {
			call(path, "guess")
		}
		if code := call(path, "guess"); code != http.StatusTooManyRequests {
			t.Errorf("%s: keys can be guessed at full speed: %d", path, code)
		}
	}
}

// Without keys a host calls from one address for all its clients, but not without limit.
func TestLimit_OfAHostWithoutKeys(t *testing.T) {
	handler := open(t, httpserver.Config{Rate: 2, Now: func() time.Time { return noon }})
	calls := 0
	for ; calls < 1000; calls++ {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp/memory-server", strings.NewReader("{}")))
		if w.Code == http.StatusTooManyRequests {
			break
		}
	}
	if calls != 500 {
		t.Errorf("refused after %d calls", calls)
	}
}
