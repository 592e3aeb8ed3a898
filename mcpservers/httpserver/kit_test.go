package httpserver_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molar/internal/httpguard"
	"molar/internal/store"
	"molar/internal/testkit/packs"
	"molar/mcpservers"
	"molar/mcpservers/httpserver"
	"molar/mcpservers/knowledge"
	"molar/mcpservers/memory"
	"molar/mcpservers/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// engine returns the URL of a search page that finds one entry, or fails for the word "broken".
func engine(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.FormValue("q"), "broken") {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, `<div class="result results_links results_links_deep web-result">
			<h2 class="result__title"><a class="result__a" href="https://tooth.example/decay">Sâu răng</a></h2>
			<a class="result__snippet" href="https://tooth.example/decay">Vi khuẩn và đường.</a></div>`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// dispatchers returns a memory server over a new store and the tool server.
func dispatchers(t testing.TB) (mem, tools *mcpservers.Dispatcher) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{
		Path: filepath.Join(t.TempDir(), "memory.db"), Now: func() time.Time { return noon },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	dental := packs.Dental()
	consult := memory.Consult{Name: "dental-consult", Description: dental.Consult.Description, Languages: dental.Languages, Texts: dental.Consult.Texts}
	if mem, err = memory.New(memory.Config{Store: db, CompressAfterSummary: true, Consults: []memory.Consult{consult}}); err != nil {
		t.Fatal(err)
	}
	guide, err := knowledge.Open(knowledge.Config{Name: "dental_guide_search", Files: packs.DentalGuide(), Fixed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guide.Close)
	if tools, err = search.New(search.Config{DuckDuckGo: search.DuckDuckGoConfig{BaseURL: engine(t)}, Folders: []*knowledge.Folder{guide}}); err != nil {
		t.Fatal(err)
	}
	return mem, tools
}

// open builds a server, with defaults for zero fields of cfg.
func open(t testing.TB, cfg httpserver.Config) *httpserver.Server {
	t.Helper()
	cfg.Memory, cfg.Tools = dispatchers(t)
	cfg.Version = "1.0.0"
	s, err := httpserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// start serves on a free port, behind the guard, and returns "http://host:port".
func start(t testing.TB, cfg httpserver.Config) string {
	t.Helper()
	port := httptest.NewUnstartedServer(nil)
	hosts, err := httpguard.Hosts(port.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Guard, err = httpguard.New(httpguard.Config{Hosts: hosts}); err != nil {
		t.Fatal(err)
	}
	handler := open(t, cfg)
	port.Config.Handler = handler
	port.Start()
	t.Cleanup(func() {
		handler.Close()
		port.CloseClientConnections()
		port.Close()
	})
	return port.URL
}

// send makes a request with a JSON body and returns status, header and body.
func send(t testing.TB, method, url, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(data)
}

// rpc posts to /jsonrpc, where every answer has status 200 or, if it is empty, 204.
func rpc(t testing.TB, url, body string) string {
	t.Helper()
	status, _, answer := send(t, http.MethodPost, url+"/jsonrpc", body)
	if status != http.StatusOK && (status != http.StatusNoContent || answer != "") {
		t.Errorf("%s: status %d, answer %q", body, status, answer)
	}
	return answer
}

// same compares two JSON texts. The word "ANY" in want matches any value.
func same(t testing.TB, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%q: %v", want, err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%q: %v", got, err)
	}
	if diff := cmp.Diff(w, fill(g, w)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// fill replaces the values of got that want leaves open.
func fill(got, want any) any {
	switch w := want.(type) {
	case string:
		if w == "ANY" && got != nil {
			return w
		}
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			for key := range g {
				g[key] = fill(g[key], w[key])
			}
		}
	case []any:
		if g, ok := got.([]any); ok {
			for i := range min(len(g), len(w)) {
				g[i] = fill(g[i], w[i])
			}
		}
	}
	return got
}

// raw writes bytes to the port and returns the first line of the answer.
func raw(t *testing.T, url, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(answer), "\r\n")
	return first
}

// plainPort serves a handler on a free port and returns "http://host:port".
func plainPort(t testing.TB, handler *httpserver.Server) string {
	t.Helper()
	port := httptest.NewServer(handler)
	t.Cleanup(func() {
		handler.Close()
		port.CloseClientConnections()
		port.Close()
	})
	return port.URL
}
