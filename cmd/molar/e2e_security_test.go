package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molar/web"
)

// A matrixCase is a request as bytes. PORT stands for the port that is listened on,
// READ and WRITE for a path of the port that is read and one that takes JSON.
type matrixCase struct {
	what, method, path, host string
	headers                  []string
	body                     string
	pass                     bool
	want                     int // of a refusal
}

// matrix crosses Host, Origin, Sec-Fetch-Site, method and content type.
func matrix() []matrixCase {
	const (
		js    = "Content-Type: application/json"
		local = "localhost:PORT"
	)
	var cases []matrixCase
	add := func(what, method, path, host string, want int, body string, headers ...string) {
		cases = append(cases, matrixCase{what, method, path, host, headers, body, want == 0, want})
	}
	for _, h := range []struct {
		host string
		want int
	}{
		{"localhost:PORT", 0},
		{"LOCALHOST:PORT", 0},
		{"127.0.0.1:PORT", 0},
		{"[::1]:PORT", 0},
		{"localhost", 403},
		{"127.0.0.1", 403},
		{"localhost:1", 403},
		{"localhost.:PORT", 403},
		{"evil.test", 403},
		{"evil.test:PORT", 403},
		{"localhost.evil.test:PORT", 403},
		{"evil.local:PORT", 403},
		{"10.0.0.5:PORT", 403},
		{"0.0.0.0:PORT", 403},
		{"127.1:PORT", 403},
		{"2130706433:PORT", 403},
		{"[::ffff:127.0.0.1]:PORT", 403},
		{"169.254.169.254", 403},
		{"", 400},
	} {
		add("Host", "GET", "READ", h.host, h.want, "")
		add("Host", "POST", "WRITE", h.host, h.want, "{}", js)
	}
	add("two Hosts", "GET", "READ", local, 400, "", "Host: "+local)
	add("a forwarded Host", "GET", "READ", "evil.test", 403, "", "X-Forwarded-Host: "+local)
	add("a target of another host", "GET", "http://evil.testREAD", local, 403, "")

	for _, origin := range []struct {
		headers []string
		get     int
		post    int
	}{
		{nil, 0, 0},
		{[]string{"Origin: http://localhost:PORT"}, 0, 0},
		{[]string{"Sec-Fetch-Site: same-origin"}, 0, 0},
		{[]string{"Sec-Fetch-Site: none"}, 0, 0},
		{[]string{"Origin: http://evil.test"}, 403, 403},
		{[]string{"Origin: null"}, 403, 403},
		{[]string{"Origin: http://localhost:1"}, 403, 403},
		{[]string{"Origin: http://127.0.0.1:PORT"}, 403, 403}, // not the Host that was asked
		{[]string{"Origin: http://localhost:PORT", "Origin: http://evil.test"}, 403, 0},
		{[]string{"Sec-Fetch-Site: same-site"}, 0, 403}, // a page on another port of this machine
		{[]string{"Sec-Fetch-Site: cross-site"}, 0, 403},
		{[]string{"Sec-Fetch-Site: cross-site", "Origin: http://evil.test"}, 403, 403},
		{[]string{"Sec-Fetch-Site: cross-site", "Origin: http://localhost:PORT"}, 0, 403},
	} {
		add("origin", "GET", "READ", local, origin.get, "", origin.headers...)
		add("origin", "POST", "WRITE", local, origin.post, "{}", append([]string{js}, origin.headers...)...)
	}
	evil := "Origin: http://evil.test"
	for _, method := range []string{"OPTIONS", "PUT", "PATCH", "DELETE"} {
		add("method from elsewhere", method, "WRITE", local, 403, "", evil, "Access-Control-Request-Method: POST")
	}
	for _, kind := range []struct {
		line string
		want int
	}{
		{js, 0},
		{"Content-Type: application/json; charset=utf-8", 0},
		{"Content-Type: text/plain", 415},
		{"Content-Type: application/x-www-form-urlencoded", 415},
		{"Content-Type: multipart/form-data; boundary=x", 415},
		{"Content-Type: application/jsonp", 415},
		{"Content-Type: application/json, text/plain", 415},
		{"X-None: 1", 415},
		{js + "\r\nContent-Type: text/plain", 415},
		{js + "\r\nContent-Encoding: gzip", 415},
	} {
		add("content type", "POST", "WRITE", local, kind.want, "{}", kind.line)
	}
	add("a body over the limit", "POST", "WRITE", local, 413, "", js, "Content-Length: 99999999")
	return cases
}

// answerTime is how long a case waits for its answer; a port without a guard waits for
// a body that never comes.
const answerTime = 3 * time.Second

// send writes the case to the port and returns the status and the head of the answer,
// 0 when none came in time.
func (c matrixCase) send(t *testing.T, addr, read, write string) (status int, head string) {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	path := strings.NewReplacer("READ", read, "WRITE", write).Replace(c.path)
	lines := []string{c.method + " " + path + " HTTP/1.1", "Host: " + c.host}
	lines = append(lines, c.headers...)
	if c.body != "" {
		lines = append(lines, fmt.Sprintf("Content-Length: %d", len(c.body)))
	}
	lines = append(lines, "Connection: close", "", c.body)
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(answerTime))
	if _, err := io.WriteString(conn, strings.ReplaceAll(strings.Join(lines, "\r\n"), "PORT", port)); err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(conn)
	line, err := answer.ReadString('\n')
	if err != nil {
		return 0, ""
	}
	if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &status); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	for head = line; ; head += line {
		if line, err = answer.ReadString('\n'); err != nil || line == "\r\n" {
			return status, head
		}
	}
}

// runMatrix sends every case and returns what went wrong. A case that is to pass must
// meet no status of the guard.
func runMatrix(t *testing.T, name, addr, read, write string) []string {
	t.Helper()
	var wrong []string
	for _, c := range matrix() {
		status, head := c.send(t, addr, read, write)
		refused := status == 403 || status == 415 || status == 413 || status == 400 && c.host == "" || status == 400 && c.what == "two Hosts"
		good := c.pass && !refused && status > 0 && status < 500 || !c.pass && status == c.want
		mark := "ok"
		if !good {
			mark = "WRONG"
			wrong = append(wrong, fmt.Sprintf("%s %q %q: %d, want %d", c.method, c.host, c.headers, status, c.want))
		}
		if strings.Contains(head, "Access-Control-") {
			wrong = append(wrong, fmt.Sprintf("%s %q: a CORS header: %s", c.method, c.host, head))
		}
		t.Logf("%-5s %-5s %-24s %-7s %-28s %-70s %d", name, mark, c.what, c.method, c.host, strings.Join(c.headers, "; "), status)
	}
	return wrong
}

// The paths of both ports that the matrix uses.
const (
	webRead, webWrite = "/v1/models", "/v1/conversations/none/clear"
	mcpRead, mcpWrite = "/servers", "/jsonrpc"
)

func TestSecurityMatrix(t *testing.T) {
	if n := 2 * len(matrix()); n < 80 {
		t.Fatalf("%d cases", n)
	}
	t.Run("serve", func(t *testing.T) {
		s := serveHost(t, keyedConfig(t, ""), nil)
		for _, wrong := range runMatrix(t, "serve", strings.TrimPrefix(s.url, "http://"), webRead, webWrite) {
			t.Error(wrong)
		}
	})
	t.Run("mcp", func(t *testing.T) {
		m := serveAlone(t, keyedConfig(t, ""), "127.0.0.1:0")
		for _, wrong := range runMatrix(t, "mcp", strings.TrimPrefix(m.url, "http://"), mcpRead, mcpWrite) {
			t.Error(wrong)
		}
	})
}

// The same cases against the same handlers with their guard taken off: the matrix is
// worth something only if most of its refusals fail then.
func TestSecurityMatrix_FailsWithoutTheGuard(t *testing.T) {
	refusals := 0
	for _, c := range matrix() {
		if !c.pass {
			refusals++
		}
	}
	off := func(next http.Handler) http.Handler { return next }
	a := &app{env: lookup(map[string]string{"HOME": t.TempDir()}), configFile: keyedConfig(t, "")}
	cfg, err := a.loadConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	handlers := map[string]func(*testing.T, net.Addr) http.Handler{
		"serve": func(t *testing.T, addr net.Addr) http.Handler {
			h, err := openHost(t.Context(), cfg, log, hostOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(h.Close)
			if h.access, err = openAccess(t.Context(), h.db, nil, true, log); err != nil {
				t.Fatal(err)
			}
			h.turns = web.NewTurns(log, nil)
			port, err := h.webConfig(addr, &reloader{})
			if err != nil {
				t.Fatal(err)
			}
			port.Guard = off
			handler, err := web.New(port)
			if err != nil {
				t.Fatal(err)
			}
			return handler
		},
		"mcp": func(t *testing.T, _ net.Addr) http.Handler {
			server, db, _, err := openMCP(context.WithoutCancel(t.Context()), cfg, log, off)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				server.Close()
				_ = db.Close()
			})
			return server
		},
	}
	for name, build := range handlers {
		t.Run(name, func(t *testing.T) {
			ts := httptest.NewUnstartedServer(nil)
			ts.Config.Handler = build(t, ts.Listener.Addr())
			ts.Start()
			defer ts.Close()
			read, write := webRead, webWrite
			if name == "mcp" {
				read, write = mcpRead, mcpWrite
			}
			wrong := runMatrix(t, name, ts.Listener.Addr().String(), read, write)
			t.Logf("without the guard %d of %d refusals fail", len(wrong), refusals)
			// net/http itself refuses a request with two Hosts or none.
			if len(wrong) < refusals-6 {
				t.Errorf("without the guard only %d of %d refusals fail", len(wrong), refusals)
			}
		})
	}
}

// No route takes a command: what would start a program elsewhere changes nothing here.
func TestSecurity_NoRouteTakesACommand(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	config := keyedConfig(t, "")
	s, m := serveHost(t, config, nil), serveAlone(t, config, "127.0.0.1:0")
	payload := `{"command":"touch","args":["` + canary + `"],"env":{"A":"b"},"cwd":"/","url":"file://` + canary + `",` +
		`"mcpServers":{"x":{"command":"touch","args":["` + canary + `"]}},"name":"x","messages":[{"role":"user","content":"hi"}]}`
	for _, base := range []string{s.url, m.url} {
		c := caller{t: t, url: base, client: s.client}
		for _, path := range []string{
			"/v1/servers", "/v1/servers/reload", "/v1/servers/x", "/v1/servers/x/approve", "/v1/tools", "/v1/tools/x/call", "/v1/providers/x/test",
			"/v1/chat/completions", "/v1/conversations", "/v1/config", "/servers", "/jsonrpc", "/mcp", "/mcp/memory-server", "/config", "/",
		} {
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch} {
				if status, answer, _ := c.do(method, path, payload); status >= 500 {
					t.Errorf("%s %s: %d %s", method, path, status, answer)
				}
			}
		}
		if status, list, _ := c.do(http.MethodGet, "/v1/servers", ""); base == s.url && (status != 200 || strings.Contains(list, `"x"`)) {
			t.Errorf("servers: %d %s", status, list)
		}
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("the canary was made")
	}
}

// ${VAR} in what came over HTTP is text, and a secret of the environment or the file is
// in no answer, log or page.
func TestSecurity_SecretsStayInside(t *testing.T) {
	const canary = "canary-5f1d0c-of-the-environment"
	config := keyedConfig(t, `
mcpServers:
  away: {url: "http://127.0.0.1:9/?k=`+canary+`", headers: {Authorization: "Bearer `+canary+`"}}
  broken: {command: "/nonexistent/`+"program"+`", args: ["`+canary+`"], env: {TOKEN: "`+canary+`"}}
assistants:
  dental: {topic: dental, search: [dental_guide_search]}
  general: {tools: ["*"]}
`)
	t.Setenv("CANARY", canary)
	s, m := serveHost(t, config, nil), serveAlone(t, config, "127.0.0.1:0")
	var seen strings.Builder
	for _, base := range []string{s.url, m.url} {
		c := caller{t: t, url: base, key: "${CANARY}", client: s.client}
		for _, text := range []string{"${CANARY}", "$CANARY", "%CANARY%", "${CANARY:-x}"} {
			question := questionBody(text, text, text, false)
			for _, try := range [][3]string{
				{http.MethodPost, "/v1/chat/completions", question},
				{http.MethodPost, "/v1/chat/completions", questionBody("general", "c1", "echo "+text, true)},
				{http.MethodPatch, "/v1/conversations/c1", `{"title":"` + text + `"}`},
				{http.MethodGet, "/v1/conversations/c1", ""},
				{http.MethodGet, "/v1/conversations?q=%24%7BCANARY%7D", ""},
				{http.MethodGet, "/v1/servers", ""},
				{http.MethodGet, "/v1/tools", ""},
				{http.MethodGet, "/v1/config", ""},
				{http.MethodGet, "/", ""},
				{http.MethodPost, "/v1/servers/reload", ""},
				{http.MethodPost, "/jsonrpc", `{"jsonrpc":"2.0","id":1,"method":"memory-server/memory/add_message","params":{"conversation_id":"` + text + `","role":"user","content":"` + text + `"}}`},
				{http.MethodPost, "/jsonrpc", `{"jsonrpc":"2.0","id":1,"method":"memory-server/memory/get_all_messages","params":{"conversation_id":"` + text + `"}}`},
				{http.MethodPost, "/jsonrpc", `{"jsonrpc":"2.0","id":1,"method":"tool-server/tools/call","params":{"name":"dental_guide_search","arguments":{"query":"` + text + `"}}}`},
			} {
				_, answer, _ := c.do(try[0], try[1], try[2])
				seen.WriteString(answer)
			}
		}
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("serve ended with %d", code)
	}
	for what, text := range map[string]string{"an answer": seen.String(), "the log": s.stderr.String(), "the overview": s.stdout.String()} {
		if strings.Contains(text, canary) {
			t.Errorf("%s holds the secret", what)
		}
	}
	if !strings.Contains(seen.String(), "${CANARY}") {
		t.Error("nothing was echoed at all")
	}
}
