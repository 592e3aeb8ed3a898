package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// A geoNetwork answers searches like a real one, and records its requests.
type geoNetwork struct {
	*httptest.Server
	mu    sync.Mutex
	asked []map[string]any
}

// catalogueOf starts a GeoNetwork that answers with the handler, or with the recorded
// answers when it is nil.
func catalogueOf(t *testing.T, answer http.HandlerFunc) *geoNetwork {
	t.Helper()
	g := &geoNetwork{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := map[string]any{}
		err := json.NewDecoder(r.Body).Decode(&body)
		if r.Method != http.MethodPost || r.URL.Path != "/catalogue/srv/api/search/records/_search" || r.Header.Get("Accept") != "application/json" || err != nil {
			http.NotFound(w, r)
			return
		}
		g.mu.Lock()
		g.asked = append(g.asked, body)
		g.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(recorded(t, body))
	}))
	t.Cleanup(g.Close)
	return g
}

func recorded(t *testing.T, body map[string]any) []byte {
	t.Helper()
	name := "testdata/search.json"
	if body["aggs"] != nil {
		name = "testdata/tags.json"
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if asked, err := json.Marshal(body["query"]); err == nil && strings.Contains(string(asked), "unknown-uuid") {
		return []byte(`{"took":1,"hits":{"total":{"value":0,"relation":"eq"},"hits":[]}}`)
	}
	return data
}

// started serves the catalogue and returns its address.
func started(t *testing.T, g *geoNetwork, timeout time.Duration) string {
	t.Helper()
	c, err := newCatalogue(g.URL+"/catalogue/", timeout, g.Client())
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(newHandler(c))
	t.Cleanup(srv.Close)
	return srv.URL
}

// attached is a host's connection to the server.
func attached(t *testing.T, cfg transport.ServerConfig) *mcpclients.Manager {
	t.Helper()
	cfg.Name = "sdi"
	m, err := mcpclients.New(mcpclients.Config{Servers: []transport.ServerConfig{cfg}})
	if err != nil {
		t.Fatal(err)
	}
	m.Start(t.Context())
	t.Cleanup(func() { _ = m.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := m.Wait(ctx, nil); err != nil || m.Status()[0].State != schemas.StateReady {
		t.Fatalf("%v %+v", err, m.Status())
	}
	return m
}

func call(t *testing.T, m *mcpclients.Manager, tool, args string) schemas.ToolResult {
	t.Helper()
	result, err := m.Call(t.Context(), "sdi", tool, json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Tools and prompts work over every transport that the server has.
func TestServer_transports(t *testing.T) {
	url := started(t, catalogueOf(t, nil), time.Second)
	for name, cfg := range map[string]transport.ServerConfig{
		"http":    {URL: url + "/mcp"},
		"sse":     {URL: url + "/sse", Type: transport.TypeSSE},
		"message": {URL: url, Type: transport.TypeMessage},
	} {
		t.Run(name, func(t *testing.T) {
			m := attached(t, cfg)
			var tools []string
			for _, tool := range m.Catalogue().Tools() {
				tools = append(tools, tool.ToolName)
			}
			if diff := cmp.Diff([]string{"get_record", "list_tags", "search_catalogue"}, tools); diff != "" {
				t.Error(diff)
			}
			var found page
			result := call(t, m, "search_catalogue", `{"query":"water quality"}`)
			if err := json.Unmarshal(result.Output, &found); err != nil || found.Total != 12 || len(found.Records) != 2 {
				t.Errorf("%s %v", result.Output, err)
			}
			prompts := m.Prompts(t.Context(), schemas.Caller{})
			if len(prompts) != 2 || prompts[0].Name != "record" || !prompts[0].Arguments[0].Required || prompts[1].Name != "tag" {
				t.Errorf("prompts %+v", prompts)
			}
			messages, err := m.Prompt(t.Context(), schemas.Caller{}, "", "sdi", "record", map[string]string{"uuid": "3ccf"})
			if err != nil || len(messages) != 1 || !strings.Contains(messages[0].Said(), `"3ccf"`) || !strings.Contains(messages[0].Said(), "get_record") {
				t.Errorf("%v %v", messages, err)
			}
			if _, err := m.Prompt(t.Context(), schemas.Caller{}, "", "sdi", "record", nil); err == nil {
				t.Error("a record without a uuid was accepted")
			}
			for tag, want := range map[string]string{"": "list_tags", "rivers": `"rivers"`} {
				messages, err := m.Prompt(t.Context(), "", "sdi", "tag", map[string]string{"tag": tag})
				if err != nil || !strings.Contains(messages[0].Said(), want) {
					t.Errorf("tag %q: %v %v", tag, messages, err)
				}
			}
		})
	}
}

// The requests to the catalogue, and the results made from its answers.
func TestTools(t *testing.T) {
	g := catalogueOf(t, nil)
	m := attached(t, transport.ServerConfig{URL: started(t, g, time.Second) + "/mcp"})
	base := g.URL + "/catalogue/srv/api/records/"
	rivers := record{
		UUID: "3ccf2fe3-40e3-4968-a54c-5a59510fa5a3", Title: "Water quality of rivers, 2024",
		Abstract: "Nutrients and oxygen in European rivers, by station and year.", Type: "dataset",
		Organisation: "European Environment Agency", Changed: "2024-11-05T09:10:11.000Z", Tags: []string{"water quality", "rivers"},
		URL: base + "3ccf2fe3-40e3-4968-a54c-5a59510fa5a3",
	}
	bathing := record{
		UUID: "0b1e2f10-0000-4a6c-9c68-9c5d3f0a1b2c", Title: "Bathing waters", Type: "series", Organisation: "EEA",
		Changed: "2023-01-02T00:00:00", Tags: []string{"bathing water"}, URL: base + "0b1e2f10-0000-4a6c-9c68-9c5d3f0a1b2c",
	}
	var found page
	if err := json.Unmarshal(call(t, m, "search_catalogue", `{"query":"water: quality AND (2024)"}`).Output, &found); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page{12, []record{rivers, bathing}}, found); diff != "" {
		t.Errorf("search (-want +got)\n%s", diff)
	}
	var one record
	if err := json.Unmarshal(call(t, m, "get_record", `{"uuid":"3ccf2fe3-40e3-4968-a54c-5a59510fa5a3"}`).Output, &one); err != nil {
		t.Fatal(err)
	}
	rivers.Links = []link{{"Download", "https://data.example/rivers", "WWW:URL"}, {"Map service", "https://maps.example/wms?service=WMS", "OGC:WMS"}}
	if diff := cmp.Diff(rivers, one); diff != "" {
		t.Errorf("record (-want +got)\n%s", diff)
	}
	if got := call(t, m, "list_tags", `{}`); string(got.Output) != `{"tags":[{"tag":"geospatial data","records":412},{"tag":"water quality","records":87}]}` {
		t.Errorf("tags %s", got.Output)
	}
	call(t, m, "search_catalogue", `{"query":"x","size":500}`)
	g.mu.Lock()
	defer g.mu.Unlock()
	sizes := []any{g.asked[0]["size"], g.asked[1]["size"], g.asked[2]["size"], g.asked[3]["size"]}
	if diff := cmp.Diff([]any{5.0, 1.0, 0.0, 50.0}, sizes); diff != "" {
		t.Errorf("sizes (-want +got)\n%s", diff)
	}
	asked, err := json.Marshal(g.asked[0]["query"])
	if err != nil || !strings.Contains(string(asked), `"query":"water\\: quality and \\(2024\\)"`) {
		t.Errorf("asked %s", asked)
	}
}

// Whatever fault the catalogue has, the tool's result describes it.
func TestTools_faults(t *testing.T) {
	html := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Maintenance</title>")
	}
	tests := []struct {
		name   string
		answer http.HandlerFunc
		tool   string
		args   string
		want   string
	}{
		{"empty query", nil, "search_catalogue", `{"query":"  "}`, "query is empty"},
		{"unknown record", nil, "get_record", `{"uuid":"unknown-uuid"}`, "has no record"},
		{"a web page", html, "search_catalogue", `{"query":"x"}`, "web page instead of data"},
		{"a web page that says it is JSON", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, " <html>")
		}, "search_catalogue", `{"query":"x"}`, "web page instead of data"},
		{"an error", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "boom", http.StatusBadGateway) }, "search_catalogue", `{"query":"x"}`, "status 502; try again later"},
		{"too many questions", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, "list_tags", `{}`, "asks for a pause"},
		{"half an answer", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"hits":{`) }, "get_record", `{"uuid":"x"}`, "cannot be read"},
		{"a huge answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(bytes.Repeat([]byte(" "), maxAnswer+10))
		}, "search_catalogue", `{"query":"x"}`, "longer than 4 MiB"},
		{"a broken connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "search_catalogue", `{"query":"x"}`, "cannot be reached"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := attached(t, transport.ServerConfig{URL: started(t, catalogueOf(t, tt.answer), time.Minute) + "/mcp"})
			if got := call(t, m, tt.tool, tt.args); !got.IsError || !strings.Contains(got.OutputText(), tt.want) {
				t.Errorf("got %s, want %q", got.OutputText(), tt.want)
			}
		})
	}
}

func TestTools_noAnswer(t *testing.T) {
	silent := catalogueOf(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	m := attached(t, transport.ServerConfig{URL: started(t, silent, 200*time.Millisecond) + "/mcp"})
	got := call(t, m, "search_catalogue", `{"query":"x"}`)
	if want := "did not answer within 200ms"; !got.IsError || !strings.Contains(got.OutputText(), want) {
		t.Errorf("got %s, want %q", got.OutputText(), want)
	}
}

// The two requests that people try by hand, and the requests that must be refused.
func TestServer_byHand(t *testing.T) {
	url := started(t, catalogueOf(t, nil), time.Second)
	do := func(method, path, body string, header ...string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
			if header[i] == "Host" {
				req.Host = header[i+1]
			}
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	tests := []struct {
		name, method, path, body string
		header                   []string
		status                   int
		want                     string
	}{
		{"health", http.MethodGet, "/health", "", nil, 200, `"status":"ok"`},
		{"tools", http.MethodPost, "/message", list, nil, 200, `"default":5`},
		{"a call", http.MethodPost, "/message", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_catalogue","arguments":{"query":"water quality","size":5}}}`, nil, 200, "Found 12 results for 'water quality'"},
		{"a notification", http.MethodPost, "/message", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
		{"no JSON", http.MethodPost, "/message", `{`, nil, 200, `"code":-32700`},
		{"too long", http.MethodPost, "/message", strings.Repeat(" ", maxRequest+1), nil, 413, ""},
		{"a web page's request", http.MethodPost, "/message", list, []string{"Origin", "https://evil.example"}, 403, ""},
		{"another host's name", http.MethodPost, "/message", list, []string{"Host", "evil.example"}, 403, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, text := do(tt.method, tt.path, tt.body, tt.header...)
			if status != tt.status || !strings.Contains(text, tt.want) {
				t.Errorf("%d %s, want %d %q", status, text, tt.status, tt.want)
			}
		})
	}
}

func TestRun_rejects(t *testing.T) {
	none := func(string) string { return "" }
	for _, args := range [][]string{{"--catalogue", "sdi"}, {"--timeout", "0s"}, {"--nope"}, {"--listen", "300.0.0.1:x"}} {
		if err := run(t.Context(), args, none, io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
	env := func(name string) string { return map[string]string{catalogueVariable: "ftp://x"}[name] }
	if err := run(t.Context(), nil, env, io.Discard); err == nil || !strings.Contains(err.Error(), "ftp://x") {
		t.Errorf("the variable is not read: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, []string{"--listen", "127.0.0.1:0"}, none, io.Discard); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}

func FuzzHit(f *testing.F) {
	data, err := os.ReadFile("testdata/search.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"hits":{"hits":[{"_source":{"tag":7,"link":[[]],"resourceTitleObject":null}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var answer searchAnswer
		if json.Unmarshal(data, &answer) != nil {
			return
		}
		for _, h := range answer.Hits.Hits {
			if r := h.record("https://a.example"); !strings.HasPrefix(r.URL, "https://a.example/") || r.describe() == "" {
				t.Errorf("%+v", r)
			}
		}
	})
}
