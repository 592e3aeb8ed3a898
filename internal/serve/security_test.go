package serve

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

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
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
		{[]string{"Origin: http://localhost:PORT", "Origin: http://evil.test"}, 403, 403},
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
	conn, err := net.DialTimeout("tcp", addr, answerTime)
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

// keyless writes a config without keys and returns its file.
func keyless(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "molar.yaml")
	text := "llm: {provider: offline}\nlisten: 127.0.0.1:0\nmcp: {rate: 0, listen: 127.0.0.1:0}\nmemory: {store: " + filepath.Join(dir, "molar.db") + "}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// commandLine is what a command gets that reads the config file.
func commandLine(t *testing.T, file string, stdout io.Writer) *cli.CLI {
	t.Helper()
	home := t.TempDir()
	env := func(name string) (string, bool) {
		if name != "HOME" {
			return "", false
		}
		return home, true
	}
	return &cli.CLI{Env: env, Stdin: strings.NewReader(""), Stdout: stdout, Stderr: io.Discard, ConfigFile: file}
}

// listening runs a command until the test ends, and returns the address on which it says
// that it listens.
func listening(t *testing.T, run func(ctx context.Context, c *cli.CLI) error) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	said, stdout := io.Pipe()
	ended := make(chan error, 1)
	c := commandLine(t, keyless(t), stdout)
	go func() { ended <- run(ctx, c) }()
	first := make(chan string, 1)
	go func() {
		lines := bufio.NewReader(said)
		line, _ := lines.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, lines)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = stdout.Close()
	})
	select {
	case line := <-first:
		_, address, _ := strings.Cut(line, "listens on http://")
		address, _, _ = strings.Cut(strings.TrimSpace(address), ": ")
		return address
	case err := <-ended:
		ended <- nil
		t.Fatalf("it ended: %v", err)
	}
	return ""
}

func TestSecurityMatrix(t *testing.T) {
	if n := 2 * len(matrix()); n < 80 {
		t.Fatalf("%d cases", n)
	}
	t.Run("serve", func(t *testing.T) {
		address := listening(t, func(ctx context.Context, c *cli.CLI) error {
			return Serve(ctx, Config{CLI: c, Load: func() (*config.Config, error) { return c.Load(nil) }})
		})
		for _, wrong := range runMatrix(t, "serve", address, webRead, webWrite) {
			t.Error(wrong)
		}
	})
	t.Run("mcp", func(t *testing.T) {
		address := listening(t, func(ctx context.Context, c *cli.CLI) error {
			cfg, err := c.Load(nil)
			if err != nil {
				return err
			}
			return MCP(ctx, MCPConfig{CLI: c, Config: cfg, Log: slog.New(slog.DiscardHandler)})
		})
		for _, wrong := range runMatrix(t, "mcp", address, mcpRead, mcpWrite) {
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
	c := commandLine(t, keyless(t), io.Discard)
	cfg, err := c.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	handlers := map[string]func(*testing.T, net.Addr) http.Handler{
		"serve": func(t *testing.T, addr net.Addr) http.Handler {
			h, err := host.Open(t.Context(), cfg, log, host.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(h.Close)
			p, err := newPort(t.Context(), h, Config{CLI: c})
			if err != nil {
				t.Fatal(err)
			}
			port, err := p.webConfig(t.Context(), addr)
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
			p, err := MCPConfig{Config: cfg, Log: log}.open(context.WithoutCancel(t.Context()), off)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.close)
			return p.server
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
