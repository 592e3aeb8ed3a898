package httpserver_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"molar/mcpservers"
	"molar/mcpservers/httpserver"
)

// attach connects a client of mcp-go with the given revision, and sends its notifications to the
// returned channel.
func attach(t *testing.T, wire transport.Interface, revision string) (*client.Client, chan mcp.JSONRPCNotification) {
	t.Helper()
	c := client.NewClient(wire, client.WithProtocolVersion(revision))
	heard := make(chan mcp.JSONRPCNotification, 10)
	c.OnNotification(func(n mcp.JSONRPCNotification) { heard <- n })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	init := mcp.InitializeRequest{}
	init.Params.ClientInfo = mcp.Implementation{Name: "stock", Version: "1"}
	init.Params.ProtocolVersion = revision
	info, err := c.Initialize(t.Context(), init)
	if err != nil {
		t.Fatal(err)
	}
	if info.ServerInfo.Name != "molar" || info.Capabilities.Resources == nil || !info.Capabilities.Resources.Subscribe {
		t.Errorf("initialize: %+v", info)
	}
	if _, announced := info.Capabilities.Experimental["memory/begin_turn"]; !announced {
		t.Errorf("the methods of its own are not announced: %v", info.Capabilities.Experimental)
	}
	return c, heard
}

// patience bounds every wait for a stream.
const patience = 10 * time.Second

// hear waits for the next notification.
func hear(t *testing.T, heard <-chan mcp.JSONRPCNotification) mcp.JSONRPCNotification {
	t.Helper()
	select {
	case n := <-heard:
		return n
	case <-time.After(patience):
		t.Fatal("no notice came")
		return mcp.JSONRPCNotification{}
	}
}

// custom calls a method of the server's own over the client's connection.
func custom(t *testing.T, c *client.Client, revision, method, params string) json.RawMessage {
	t.Helper()
	// The client forgets an id only after it has returned the answer, so a request that reuses
	// the id at once may never be answered.
	req := transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(rand.Text()), Method: method, Params: json.RawMessage(params)}
	if mcp.IsModernProtocol(revision) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(params), &fields); err != nil {
			t.Fatal(err)
		}
		fields["_meta"] = map[string]any{
			mcp.MetaKeyProtocolVersion: revision, mcp.MetaKeyClientCapabilities: map[string]any{},
			mcp.MetaKeyClientInfo: map[string]string{"name": "stock", "version": "1"},
		}
		req.Params = fields
		req.Header = http.Header{mcp.HeaderMethod: {method}, mcp.HeaderProtocolVersion: {revision}}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	res, err := c.GetTransport().SendRequest(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if res.Error != nil {
		t.Fatalf("%s: %+v", method, res.Error)
	}
	return res.Result
}

// use runs what every client can do on every transport.
func use(t *testing.T, c *client.Client, revision string) {
	t.Helper()
	ctx := t.Context()
	custom(t, c, revision, "memory/add_message", `{"conversation_id":"a b","role":"user","content":"My tooth hurts."}`)
	if got := custom(t, c, revision, "memory/get_context", `{"conversation_id":"a b"}`); !strings.Contains(string(got), "My tooth hurts.") {
		t.Errorf("memory/get_context: %s", got)
	}
	tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil || len(tools.Tools) != 2 {
		t.Fatalf("tools/list: %v, %v", tools, err)
	}
	call := mcp.CallToolRequest{}
	call.Params.Name, call.Params.Arguments = "dental_guide_search", map[string]any{"query": "sâu răng"}
	result, err := c.CallTool(ctx, call)
	if err != nil || result.IsError || result.StructuredContent == nil {
		t.Errorf("tools/call: %+v, %v", result, err)
	}
	templates, err := c.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
	if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate.Raw() != "memory://conversation/{id}" {
		t.Errorf("resources/templates/list: %v, %v", templates, err)
	}
	resources, err := c.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil || len(resources.Resources) != 1 || resources.Resources[0].URI != "memory://conversation/a%20b" {
		t.Fatalf("resources/list: %v, %v", resources, err)
	}
	read := mcp.ReadResourceRequest{}
	read.Params.URI = resources.Resources[0].URI
	got, err := c.ReadResource(ctx, read)
	if err != nil || len(got.Contents) != 1 {
		t.Fatalf("resources/read: %v, %v", got, err)
	}
	if text, ok := got.Contents[0].(mcp.TextResourceContents); !ok || !json.Valid([]byte(text.Text)) || !strings.Contains(text.Text, "My tooth hurts.") {
		t.Errorf("resources/read: %v", got.Contents[0])
	}
	usePrompts(t, c)
}

func usePrompts(t *testing.T, c *client.Client) {
	t.Helper()
	list, err := c.ListPrompts(t.Context(), mcp.ListPromptsRequest{})
	if err != nil || len(list.Prompts) != 2 {
		t.Fatalf("prompts/list: %v, %v", list, err)
	}
	for _, p := range []struct {
		name string
		args map[string]string
		want []string // parts of the messages, one each; empty for an error
	}{
		{"summarise-conversation", map[string]string{"conversation_id": "a b"}, []string{"in English", "My tooth hurts."}},
		{"summarise-conversation", map[string]string{"conversation_id": "a b", "language": "vi"}, []string{"bằng tiếng Việt", "My tooth hurts."}},
		{"dental-consult", map[string]string{"question": "Răng tôi đau?", "language": "vi"}, []string{"Răng tôi đau?"}},
		{"dental-consult", map[string]string{"question": "Why?", "conversation_id": "a b"}, []string{"Why?", "My tooth hurts."}},
		{"dental-consult", map[string]string{}, nil},
		{"dental-consult", map[string]string{"question": "Pourquoi?", "language": "fr"}, nil},
		{"summarise-conversation", map[string]string{"conversation_id": "nobody"}, nil},
		{"write-poem", nil, nil},
	} {
		req := mcp.GetPromptRequest{}
		req.Params.Name, req.Params.Arguments = p.name, p.args
		got, err := c.GetPrompt(t.Context(), req)
		if (err != nil) != (p.want == nil) {
			t.Errorf("prompt %s %v: %v", p.name, p.args, err)
			continue
		}
		for i, want := range p.want {
			text, err := json.Marshal(got.Messages[i])
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("prompt %s %v: message %d is %s, want %q in it", p.name, p.args, i, text, want)
			}
		}
	}
}

func overHTTP(t *testing.T, url string) transport.Interface {
	t.Helper()
	wire, err := transport.NewStreamableHTTP(url+"/mcp", transport.WithContinuousListening())
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func TestMCP_ClientWithSession(t *testing.T) {
	url := start(t, httpserver.Config{})
	c, heard := attach(t, overHTTP(t, url), mcp.LATEST_LEGACY_PROTOCOL_VERSION)
	use(t, c, "")

	sub := mcp.SubscribeRequest{}
	sub.Params.URI = "memory://conversation/a%20b"
	if err := c.Subscribe(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
	rpc(t, url, `{"jsonrpc":"2.0","id":1,"method":"memory-server/memory/add_message","params":{"conversation_id":"other","role":"user","content":"x"}}`)
	rpc(t, url, `{"jsonrpc":"2.0","id":1,"method":"memory-server/memory/set_summary","params":{"conversation_id":"a b","summary":"S"}}`)
	if n := hear(t, heard); n.Method != "notifications/resources/updated" || n.Params.AdditionalFields["uri"] != sub.Params.URI {
		t.Errorf("notice: %+v", n)
	}
	unsub := mcp.UnsubscribeRequest{}
	unsub.Params.URI = sub.Params.URI
	if err := c.Unsubscribe(t.Context(), unsub); err != nil {
		t.Fatal(err)
	}
	rpc(t, url, `{"jsonrpc":"2.0","id":1,"method":"memory-server/memory/clear","params":{"conversation_id":"a b"}}`)
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if len(heard) != 0 {
		t.Errorf("a notice came after the end of the subscription: %+v", <-heard)
	}
}

func TestMCP_StatelessClient(t *testing.T) {
	url := start(t, httpserver.Config{})
	wire, err := transport.NewStreamableHTTP(url + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := attach(t, wire, mcp.ProtocolVersion20260728)
	use(t, c, mcp.ProtocolVersion20260728)
	got := custom(t, c, mcp.ProtocolVersion20260728, "memory/get_summary", `{"conversation_id":"a b"}`)
	same(t, string(got), `{"summary":"","resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"molar","version":"1.0.0"}}}`)
}

// A stateless client receives notifications on a stream that it keeps open.
func TestMCP_ListeningStream(t *testing.T) {
	url := start(t, httpserver.Config{})
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}`
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["memory://conversation/c"]},`+meta+`}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
	} {
		req.Header.Set(name, value)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	readUntil(t, res.Body, "acknowledged")
	rpc(t, url, `{"jsonrpc":"2.0","id":1,"method":"memory-server/memory/add_message","params":{"conversation_id":"c","role":"user","content":"x"}}`)
	readUntil(t, res.Body, "notifications/resources/updated")
}

// A subscription to something that cannot change is acknowledged first and then ends.
func TestListen_Nothing(t *testing.T) {
	url := start(t, httpserver.Config{})
	for range 20 {
		body := `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
			`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
		} {
			req.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		ack, end, _ := strings.Cut(string(answer), "\n\n")
		if err != nil || !strings.Contains(ack, "notifications/subscriptions/acknowledged") || !strings.Contains(end, `"resultType":"complete"`) ||
			!strings.Contains(end, `"io.modelcontextprotocol/subscriptionId":7`) {
			t.Fatalf("%v\n%s", err, answer)
		}
	}
}

// readUntil reads a stream until it has contained text.
func readUntil(t *testing.T, stream io.Reader, text string) {
	t.Helper()
	var seen strings.Builder
	part := make([]byte, 4096)
	for !strings.Contains(seen.String(), text) {
		n, err := stream.Read(part)
		seen.Write(part[:n])
		if err != nil {
			t.Fatalf("no %q in the stream: %v\n%s", text, err, &seen)
		}
	}
}

// The server's own methods need a session like all others, and batches are not part of MCP.
func TestMCP_Refusals(t *testing.T) {
	url := start(t, httpserver.Config{})
	method := `{"jsonrpc":"2.0","id":1,"method":"memory/get_context","params":{"conversation_id":"c"}}`
	for name, c := range map[string]struct {
		body   string
		header []string
		status int
		want   string
	}{
		"no session":        {method, nil, 404, "unknown session"},
		"unknown session":   {method, []string{"Mcp-Session-Id", "mcp-1"}, 404, "unknown session"},
		"unknown revision":  {method, []string{"Mcp-Protocol-Version", "1999-01-01"}, 400, "unsupported protocol version"},
		"revision not said": {method, []string{"Mcp-Protocol-Version", "2026-07-28"}, 400, "_meta"},
		"batch":             {"[" + method + "]", nil, 400, "-32600"},
		"id of null":        {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, 400, "-32600"},
		"no JSON":           {`{"jsonrpc"`, nil, 400, "-32700"},
		"key twice":         {`{"jsonrpc":"2.0","id":1,"id":2,"method":"initialize"}`, nil, 400, "-32700"},
		"case":              {`{"jsonrpc":"2.0","id":1,"Method":"initialize"}`, nil, 400, "-32600"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, body := send(t, http.MethodPost, url+"/mcp", c.body, c.header...)
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("%d %s, want %d and %q", status, body, c.status, c.want)
			}
		})
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

func TestMCP_CodesOfTheProtocol(t *testing.T) {
	url := start(t, httpserver.Config{})
	read := `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"memory://conversation/none"%s}}`
	for path, code := range map[string]string{"/mcp": "-32002", "/mcp/memory-server": "-32001"} {
		_, header, _ := send(t, http.MethodPost, url+path, initialize)
		session := header.Get("Mcp-Session-Id")
		_, _, body := send(t, http.MethodPost, url+path, strings.Replace(read, "%s", "", 1), "Mcp-Session-Id", session)
		if !strings.Contains(body, `"code":`+code) {
			t.Errorf("%s: %s, want code %s", path, body, code)
		}
		if status, _, _ := send(t, http.MethodDelete, url+path, "", "Mcp-Session-Id", session); status != http.StatusOK {
			t.Errorf("%s: the session's end got %d", path, status)
		}
		if status, _, _ := send(t, http.MethodPost, url+path, strings.Replace(read, "%s", "", 1), "Mcp-Session-Id", session); status != http.StatusNotFound {
			t.Errorf("%s: after the session's end: %d", path, status)
		}
	}
}

func TestClose_EndsOpenStreams(t *testing.T) {
	handler := open(t, httpserver.Config{})
	port := plainPort(t, handler)
	_, header, _ := send(t, http.MethodPost, port+"/mcp", initialize)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, port+"/mcp", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", header.Get("Mcp-Session-Id"))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	handler.Close()
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Error(err)
	}
	if status, _, _ := send(t, http.MethodPost, port+"/mcp", initialize); status != http.StatusServiceUnavailable {
		t.Errorf("after Close: %d", status)
	}
}

// An unused session ends by itself; a used one does not.
func TestSessions_IdleOnesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var servers [2]*mcpservers.Dispatcher
		for i, name := range []string{"memory-server", "tool-server"} {
			d, err := mcpservers.New(mcpservers.Config{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			servers[i] = d
		}
		s, err := httpserver.New(httpserver.Config{Memory: servers[0], Tools: servers[1], Rate: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		post := func(body, session string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Mcp-Session-Id", session)
			s.ServeHTTP(w, r)
			return w
		}
		session := post(initialize, "").Header().Get("Mcp-Session-Id")
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{25 * time.Minute, 200}, {25 * time.Minute, 200}, {40 * time.Minute, 404}} {
			time.Sleep(step.after)
			if w := post(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, session); w.Code != step.want {
				t.Errorf("after %s: %d %s, want %d", step.after, w.Code, w.Body, step.want)
			}
		}
	})
}

func TestNew_RejectsBadInput(t *testing.T) {
	mem, tools := dispatchers(t)
	for name, cfg := range map[string]httpserver.Config{
		"no memory":      {Tools: tools},
		"no tools":       {Memory: mem},
		"the same twice": {Memory: mem, Tools: mem},
	} {
		if _, err := httpserver.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
