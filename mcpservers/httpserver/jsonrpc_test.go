package httpserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"molar/mcpservers/httpserver"
)

// Each step is a request and its answer, in one sequence: a conversation of eight messages from
// its beginning to its end.
func TestJSONRPC_MemoryMethods(t *testing.T) {
	url := start(t, httpserver.Config{})
	for i, s := range []struct{ method, params, result string }{
		{"memory/get_or_create", `{"conversation_id":"chat_xxx"}`, `{"conversation_id":"chat_xxx"}`},
		{"memory/get_or_create", `{}`, `{"conversation_id":"ANY"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"user","content":"1"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"assistant","content":"2"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"system","content":"3"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"user","content":"4"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"assistant","content":"5"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"user","content":"6"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"assistant","content":"7"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"user","content":"8"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/get_context", `{"conversation_id":"chat_xxx","max_messages":20}`, `{"messages":[
			{"role":"system","content":"3"},{"role":"user","content":"4"},{"role":"assistant","content":"5"},
			{"role":"user","content":"6"},{"role":"assistant","content":"7"},{"role":"user","content":"8"}]}`},
		{"memory/get_context", `{"conversation_id":"chat_xxx","max_messages":1}`, `{"messages":[{"role":"user","content":"8"}]}`},
		{"memory/get_context", `{"conversation_id":"chat_none"}`, `{"messages":[]}`},
		{"memory/get_all_messages", `{"conversation_id":"chat_xxx"}`, `{"messages":[
			{"role":"user","content":"1"},{"role":"assistant","content":"2"},{"role":"system","content":"3"},{"role":"user","content":"4"},
			{"role":"assistant","content":"5"},{"role":"user","content":"6"},{"role":"assistant","content":"7"},{"role":"user","content":"8"}]}`},
		{"memory/get_old_messages", `{"conversation_id":"chat_xxx"}`, `{"messages":[
			{"role":"user","content":"1"},{"role":"assistant","content":"2"}],"total_count":8}`},
		{"memory/get_or_create_summary", `{"conversation_id":"chat_xxx","old_messages":[],"language":"vi"}`, `{"summary":""}`},
		{"memory/set_summary", `{"conversation_id":"chat_xxx","summary":"Tóm tắt 1\n\nTóm tắt 2","compress":false}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/get_summary", `{"conversation_id":"chat_xxx"}`, `{"summary":"Tóm tắt 1\n\nTóm tắt 2"}`},
		{"memory/get_or_create_summary", `{"conversation_id":"chat_xxx","old_messages":[],"language":"en"}`, `{"summary":"Tóm tắt 1\n\nTóm tắt 2"}`},
		{"memory/get_old_messages", `{"conversation_id":"chat_xxx"}`, `{"messages":[],"total_count":8}`},
		{"memory/clear", `{"conversation_id":"chat_xxx"}`, `{"status":"cleared","conversation_id":"chat_xxx"}`},
		{"memory/get_all_messages", `{"conversation_id":"chat_xxx"}`, `{"messages":[]}`},
		{"memory/get_summary", `{"conversation_id":"chat_xxx"}`, `{"summary":""}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"user","content":"again"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"resources/read", `{"uri":"memory://conversation/chat_xxx"}`, `{"contents":[{"uri":"memory://conversation/chat_xxx","mimeType":"application/json",
			"text":"{\"messages\":[{\"role\":\"user\",\"content\":\"again\",\"timestamp\":\"2026-03-01T12:00:00Z\"}],\"summary\":{\"text\":\"\",\"updated_at\":null}}"}]}`},
		{"memory/delete", `{"conversation_id":"chat_xxx"}`, `{"status":"deleted","conversation_id":"chat_xxx"}`},
		{"resources/list", `{}`, `{"resources":[{"uri":"ANY","name":"ANY","description":"ANY","mimeType":"application/json"}]}`},
		{"memory/begin_turn", `{"conversation_id":"chat_new","owner":""}`, `{"conversation_id":"chat_new","known":false,"summary":"","covers":0,
			"messages":[],"servers_read":[],"lease":"ANY"}`},
	} {
		request := fmt.Sprintf(`{"jsonrpc":"2.0","method":"memory-server/%s","params":%s,"id":%d}`, s.method, s.params, i)
		same(t, rpc(t, url, request), fmt.Sprintf(`{"jsonrpc":"2.0","result":%s,"id":%d}`, s.result, i))
	}
}

func TestJSONRPC_Tools(t *testing.T) {
	url := start(t, httpserver.Config{})
	got := rpc(t, url, `{"jsonrpc":"2.0","method":"tool-server/tools/list","params":{},"id":12}`)
	for _, want := range []string{
		`"id":12`, `"name":"duckduckgo_search"`,
		`"description":"Search using DuckDuckGo (free, unlimited, privacy-focused). Returns up to 5 relevant search results with titles, content snippets, and links."`,
		`"query":{"description":"Search query - should be specific and descriptive for best results","type":"string"}`, `"required":["query"]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("tools/list lacks %s:\n%s", want, got)
		}
	}
	got = rpc(t, url, `{"jsonrpc":"2.0","method":"tool-server/tools/call","params":{"name":"duckduckgo_search","arguments":{"query":"sâu răng nguyên nhân"}},"id":13}`)
	same(t, got, `{"jsonrpc":"2.0","id":13,"result":{"content":[{"type":"text",
		"text":"Title: Sâu răng\nContent: Vi khuẩn và đường.\nLink: https://tooth.example/decay"}]}}`)
}

// Every error code of the protocol and of the servers.
func TestJSONRPC_Errors(t *testing.T) {
	url := start(t, httpserver.Config{})
	for name, c := range map[string]struct {
		body string
		code int
		text string
		id   string
	}{
		"no JSON":              {`{"jsonrpc": "2.0", "method`, -32700, "Parse error: ", "null"},
		"key twice":            {`{"jsonrpc":"2.0","id":1,"method":"memory-server/ping","method":"x/y"}`, -32700, "Parse error: ", "null"},
		"key twice but case":   {`{"jsonrpc":"2.0","id":1,"method":"memory-server/ping","Method":"x/y"}`, -32700, "Parse error: ", "null"},
		"too deep":             {strings.Repeat("[", 500) + strings.Repeat("]", 500), -32700, "Parse error: ", "null"},
		"NUL in a key":         {`{"jsonrpc":"2.0","id":1,"me\u0000thod":"x"}`, -32700, "Parse error: ", "null"},
		"no version":           {`{"method":"memory-server/ping","id":7}`, -32600, "Invalid request: ", "7"},
		"no method":            {`{"jsonrpc":"2.0","id":"a"}`, -32600, "Invalid request: ", `"a"`},
		"case of a member":     {`{"jsonrpc":"2.0","id":1,"Method":"memory-server/ping"}`, -32600, "Invalid request: ", "1"},
		"case of params":       {`{"jsonrpc":"2.0","id":1,"method":"memory-server/ping","Params":{}}`, -32600, "Invalid request: ", "1"},
		"params a number":      {`{"jsonrpc":"2.0","id":1,"method":"memory-server/ping","params":3}`, -32600, "Invalid request: ", "1"},
		"id an object":         {`{"jsonrpc":"2.0","id":{},"method":"memory-server/ping"}`, -32600, "Invalid request: ", "null"},
		"empty batch":          {`[]`, -32600, "Invalid request: ", "null"},
		"unknown method":       {`{"jsonrpc":"2.0","method":"memory-server/unknown/method","id":null}`, -32601, "Method 'unknown/method' not found on server 'memory-server'", "null"},
		"unknown tool method":  {`{"jsonrpc":"2.0","method":"tool-server/memory/clear","id":2}`, -32601, "Method 'memory/clear' not found on server 'tool-server'", "2"},
		"unknown server":       {`{"jsonrpc":"2.0","method":"mail-server/tools/list","id":2}`, -32601, "Method 'mail-server/tools/list' not found", "2"},
		"no server":            {`{"jsonrpc":"2.0","method":"ping","id":2}`, -32601, "Method 'ping' not found", "2"},
		"a session's method":   {`{"jsonrpc":"2.0","method":"memory-server/subscriptions/listen","id":2}`, -32601, "not found on server 'memory-server'", "2"},
		"missing parameter":    {`{"jsonrpc":"2.0","method":"memory-server/memory/get_context","params":{},"id":3}`, -32602, "Invalid params: conversation_id is missing", "3"},
		"wrong type":           {`{"jsonrpc":"2.0","method":"memory-server/memory/get_context","params":{"conversation_id":5},"id":3}`, -32602, "Invalid params: ", "3"},
		"case of a parameter":  {`{"jsonrpc":"2.0","method":"memory-server/memory/get_context","params":{"Conversation_id":"c"},"id":3}`, -32602, "Invalid params: ", "3"},
		"params an array":      {`{"jsonrpc":"2.0","method":"memory-server/memory/get_context","params":["c"],"id":3}`, -32602, "Invalid params: ", "3"},
		"wrong role":           {`{"jsonrpc":"2.0","method":"memory-server/memory/add_message","params":{"role":"tool","content":"x"},"id":3}`, -32602, "Invalid params: role", "3"},
		"unknown tool":         {`{"jsonrpc":"2.0","method":"tool-server/tools/call","params":{"name":"nope","arguments":{}},"id":4}`, -32602, "nope", "4"},
		"clear of nothing":     {`{"jsonrpc":"2.0","method":"memory-server/memory/clear","params":{"conversation_id":"none"},"id":"x"}`, -32001, "none", `"x"`},
		"delete of nothing":    {`{"jsonrpc":"2.0","method":"memory-server/memory/delete","params":{"conversation_id":"none"},"id":5}`, -32001, "none", "5"},
		"read of nothing":      {`{"jsonrpc":"2.0","method":"memory-server/resources/read","params":{"uri":"memory://conversation/none"},"id":5}`, -32001, "Resource not found: memory://conversation/none", "5"},
		"tool that failed":     {`{"jsonrpc":"2.0","method":"tool-server/tools/call","params":{"name":"duckduckgo_search","arguments":{"query":"broken"}},"id":6}`, -32002, "Tool execution error: ", "6"},
		"tool without a query": {`{"jsonrpc":"2.0","method":"tool-server/tools/call","params":{"name":"duckduckgo_search","arguments":{}},"id":6}`, -32002, "Tool execution error: ", "6"},
		"large id kept":        {`{"jsonrpc":"2.0","method":"memory-server/nope","id":12345678901234567890}`, -32601, "nope", "12345678901234567890"},
	} {
		t.Run(name, func(t *testing.T) {
			got := rpc(t, url, c.body)
			if !strings.Contains(got, fmt.Sprintf(`"code":%d`, c.code)) || !strings.Contains(got, c.text) ||
				!strings.Contains(got, `"id":`+c.id+",") {
				t.Errorf("got %s want code %d, text %q, id %s", got, c.code, c.text, c.id)
			}
		})
	}
}

func TestJSONRPC_BatchesAndNotifications(t *testing.T) {
	url := start(t, httpserver.Config{})
	note := `{"jsonrpc":"2.0","method":"memory-server/memory/add_message","params":{"conversation_id":"c","role":"user","content":"noted"}}`
	if got := rpc(t, url, note); got != "" {
		t.Errorf("a notification got %q", got)
	}
	if got := rpc(t, url, `{"jsonrpc":"2.0","method":"nobody/knows"}`); got != "" {
		t.Errorf("a notification for nobody got %q", got)
	}
	if got := rpc(t, url, "["+note+","+note+"]"); got != "" {
		t.Errorf("a batch of notifications got %q", got)
	}
	same(t, rpc(t, url, ` [`+note+`, {"jsonrpc":"2.0","method":"memory-server/memory/get_context","params":{"conversation_id":"c","max_messages":1},"id":"a"},
		1, {"jsonrpc":"2.0","method":"memory-server/memory/get_old_messages","params":{"conversation_id":"c"},"id":null}]`),
		`[{"jsonrpc":"2.0","id":"a","result":{"messages":[{"role":"user","content":"noted"}]}},
		  {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"ANY"}},
		  {"jsonrpc":"2.0","id":null,"result":{"messages":[],"total_count":4}}]`)
	long := "[" + strings.Repeat("1,", 100) + "1]"
	same(t, rpc(t, url, long), `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a batch holds 1 to 100 messages"}}`)
}

func TestRoutes(t *testing.T) {
	url := start(t, httpserver.Config{})
	rpc(t, url, `{"jsonrpc":"2.0","method":"memory-server/memory/get_or_create","params":{"conversation_id":"chat_xxx"},"id":1}`)
	resource := `{"uri":"memory://conversation/chat_xxx","name":"Conversation chat_xxx","description":"Conversation history for chat_xxx","mimeType":"application/json"}`
	memory := `{"tools":[],"resources":[` + resource + `],"prompts":["ANY","ANY"]}`
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{http.MethodGet, "/health", 200, `{"status":"healthy","servers":["memory-server","tool-server"]}`},
		{http.MethodGet, "/servers", 200, `{"servers":[{"name":"memory-server","capabilities":` + memory + `},
			{"name":"tool-server","capabilities":{"tools":["ANY","ANY"],"resources":[],"prompts":[]}}]}`},
		{http.MethodGet, "/servers/memory-server/capabilities", 200, `{"server_name":"memory-server","capabilities":` + memory + `}`},
		{http.MethodGet, "/servers/mail/capabilities", 404, `{"error":{"code":"server_not_found","message":"ANY"}}`},
		{http.MethodGet, "/jsonrpc", 405, ""},
		{http.MethodGet, "/", 404, ""},
	} {
		status, _, body := send(t, c.method, url+c.path, "")
		if status != c.status {
			t.Errorf("%s %s: status %d, want %d", c.method, c.path, status, c.status)
		}
		if c.want != "" {
			same(t, body, c.want)
		}
	}
}

// Every request is answered with JSON-RPC.
func FuzzJSONRPC(f *testing.F) {
	handler := open(f, httpserver.Config{})
	for _, seed := range []string{
		`{"jsonrpc":"2.0","method":"memory-server/memory/get_or_create","params":{},"id":1}`,
		`[{"jsonrpc":"2.0","method":"tool-server/tools/list","id":null}]`, `{"JSONRPC":"2.0","METHOD":"x","ID":1}`,
		`{"a":1,"a":2}`, "\x00", `[[[[[[]]]]]]`, `{"jsonrpc":"2.0","method":7,"id":[]}`, `"text"`, ``, `null`, `[null,1,{}]`,
		`{"jsonrpc":"2.0","method":"memory-server/resources/read","params":{"uri":"memory://conversation/%zz"},"id":1}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := serveOne(t, handler, body)
		if w.Code == http.StatusNoContent && w.Body.Len() == 0 {
			return
		}
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"jsonrpc":"2.0"`) {
			t.Errorf("%q: status %d, %s", body, w.Code, w.Body)
		}
	})
}
