package httpserver_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"molar/mcpservers/httpserver"
)

func serveOne(t testing.TB, handler http.Handler, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/jsonrpc", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	handler.ServeHTTP(w, r)
	return w
}

// A third-party web page reaches no route, neither under its own name nor under a name that
// resolves to this machine.
func TestGuard_StrangersAreRefused(t *testing.T) {
	url := start(t, httpserver.Config{})
	host := strings.TrimPrefix(url, "http://")
	for _, path := range []string{"/jsonrpc", "/mcp", "/mcp/memory-server", "/health", "/servers"} {
		for name, head := range map[string]string{
			"foreign host":        "Host: evil.example\n",
			"host without port":   "Host: 127.0.0.1\n",
			"foreign origin":      "Host: " + host + "\nOrigin: http://evil.example\n",
			"null origin":         "Host: " + host + "\nOrigin: null\n",
			"other port's origin": "Host: " + host + "\nOrigin: http://127.0.0.1:1\n",
		} {
			body := `{"jsonrpc":"2.0","method":"memory-server/ping","id":1}`
			got := raw(t, url, "POST "+path+" HTTP/1.1\n"+head+
				"Content-Type: application/json\nConnection: close\nContent-Length: 54\n\n"+body)
			if !strings.Contains(got, "403 Forbidden") {
				t.Errorf("POST %s with %s: %s", path, name, got)
			}
			if got := raw(t, url, "GET "+path+" HTTP/1.1\n"+head+"Connection: close\n\n"); !strings.Contains(got, "403 Forbidden") {
				t.Errorf("GET %s with %s: %s", path, name, got)
			}
		}
	}
	form := "POST /jsonrpc HTTP/1.1\nHost: " + host + "\nContent-Type: text/plain\nConnection: close\nContent-Length: 2\n\n{}"
	if got := raw(t, url, form); !strings.Contains(got, "415") {
		t.Errorf("a plain form: %s", got)
	}
	if got := raw(t, url, "GET /health HTTP/1.0\n\n"); !strings.Contains(got, "400") {
		t.Errorf("no host: %s", got)
	}
}

func TestBody_LargerThanTheLimitIsRefused(t *testing.T) {
	handler := open(t, httpserver.Config{})
	fits := `{"jsonrpc":"2.0","method":"memory-server/memory/add_message","id":1,"params":{"conversation_id":"c","role":"user","content":"` +
		strings.Repeat("x", 1<<20) + `"}}`
	if w := serveOne(t, handler, fits); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "success") {
		t.Errorf("a message of 1 MiB: %d %s", w.Code, w.Body)
	}
	w := serveOne(t, handler, fits+strings.Repeat(" ", httpserver.MaxBody))
	if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "-32600") {
		t.Errorf("a body above the limit: %d %s", w.Code, w.Body)
	}
}

// A port without keys is reachable only from this machine, where a client makes several calls per
// turn.
func TestLimit_NoneWithoutKeys(t *testing.T) {
	handler := open(t, httpserver.Config{Now: func() time.Time { return noon }})
	for path, method := range map[string]string{"/jsonrpc": "POST", "/mcp": "POST", "/mcp/memory-server": "POST", "/servers": "GET"} {
		for i := range 500 {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(`{"jsonrpc":"2.0","method":"memory-server/ping","id":9}`)))
			if w.Code == http.StatusTooManyRequests {
				t.Fatalf("%s: call %d: %s", path, i+1, w.Body)
			}
		}
	}
}

// A configured rate applies without keys too.
func TestLimit_HoldsEachAddressToItsRate(t *testing.T) {
	now := noon
	handler := open(t, httpserver.Config{Rate: 20, Now: func() time.Time { return now }})
	ping := func(from, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/jsonrpc", strings.NewReader(body))
		r.RemoteAddr = from
		handler.ServeHTTP(w, r)
		return w
	}
	one := `{"jsonrpc":"2.0","method":"memory-server/ping","id":9}`
	for range 100 {
		if w := ping("127.0.0.1:1000", one); w.Code != http.StatusOK {
			t.Fatalf("a call within the limit: %d %s", w.Code, w.Body)
		}
	}
	w := ping("127.0.0.1:2000", one)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
		t.Errorf("call 101: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	same(t, w.Body.String(), `{"jsonrpc":"2.0","id":9,"error":{"code":-32000,"message":"ANY"}}`)
	if w := ping("127.0.0.2:1000", one); w.Code != http.StatusOK {
		t.Errorf("another address: %d", w.Code)
	}
	now = now.Add(50 * time.Millisecond)
	if w := ping("127.0.0.1:1000", one); w.Code != http.StatusOK {
		t.Errorf("one call later: %d", w.Code)
	}
	now = now.Add(3 * time.Second)
	batch := "[" + strings.Repeat(one+",", 99) + one + "]"
	if w := ping("127.0.0.1:1000", batch); w.Code != http.StatusOK {
		t.Errorf("a batch: %d", w.Code)
	}
	if w := ping("127.0.0.1:1000", one); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "3" {
		t.Errorf("after a batch of 100: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	now = now.Add(2100 * time.Millisecond)
	if w := ping("127.0.0.1:1000", one); w.Code != http.StatusOK {
		t.Errorf("when the batch is paid: %d", w.Code)
	}
}

// The commands of the documentation, run by a shell, give the printed answers.
func TestCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not on this machine")
	}
	url := start(t, httpserver.Config{})
	page, err := os.ReadFile("../../docs/memory-server.md")
	if err != nil {
		t.Fatal(err)
	}
	script := "set -eu\ncurl() { command curl -sf \"$@\"; }\n"
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(curl.*?)^```").FindAllStringSubmatch(string(page), -1) {
		script += block[1]
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(script, ":8001", url[strings.LastIndex(url, ":"):]))
	cmd.Env = append(cmd.Environ(), "no_proxy=*", "NO_PROXY=*")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := []string{
		`{"status":"healthy","servers":["memory-server","tool-server"]}`,
		`{"servers":["ANY","ANY"]}`,
		`{"server_name":"memory-server","capabilities":"ANY"}`,
		`{"jsonrpc":"2.0","result":{"conversation_id":"ANY"},"id":1}`,
		`{"jsonrpc":"2.0","result":{"tools":["ANY","ANY"]},"id":1}`,
		`{"jsonrpc":"2.0","result":{"status":"success","conversation_id":"chat_1"},"id":2}`,
		`[{"jsonrpc":"2.0","result":{"messages":[{"role":"user","content":"My tooth hurts."}]},"id":3},{"jsonrpc":"2.0","result":{"contents":["ANY"]},"id":4}]`,
		`{"jsonrpc":"2.0","result":{"content":["ANY"]},"id":5}`,
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d answers, want %d:\n%s", len(lines), len(want), out)
	}
	for i, line := range lines {
		same(t, line, want[i])
	}
}
