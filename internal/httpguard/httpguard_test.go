package httpguard_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/internal/httpguard"
)

const maxBody = 1 << 10

// guarded starts a server behind the guard, on a free loopback port. Its handler
// reads the body and answers 200, or 413 when the body is over the limit.
func guarded(t *testing.T) (addr, port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = listener.Addr().String()
	_, port, _ = net.SplitHostPort(addr)
	hosts, err := httpguard.Hosts(addr, "molar.test")
	if err != nil {
		t.Fatal(err)
	}
	guard, err := httpguard.New(httpguard.Config{Hosts: hosts, Open: []string{"/health"}, MaxBody: maxBody})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewUnstartedServer(guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})))
	_ = ts.Listener.Close()
	ts.Listener = listener
	ts.Start()
	t.Cleanup(ts.Close)
	return addr, port
}

// raw sends bytes as they are and reads the answer.
func raw(t *testing.T, addr, request string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("read the answer to %q: %v", request, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp
}

// TestGuard_Matrix crosses Host, Origin and method over raw sockets.
func TestGuard_Matrix(t *testing.T) {
	addr, port := guarded(t)
	hosts := []struct {
		line string
		want int
	}{
		{"Host: localhost:" + port, 200},
		{"Host: LocalHost:" + port, 200},
		{"Host: 127.0.0.1:" + port, 200},
		{"Host: [::1]:" + port, 200},
		{"Host: molar.test", 200},
		{"Host: molar.test:" + port, 200},
		{"Host: ", 400},
		{"X-No-Host: 1", 400},
		{"Host: localhost:" + port + "\r\nHost: localhost:" + port, 400},
		{"Host: localhost", 403},
		{"Host: localhost:1", 403},
		{"Host: localhost.:" + port, 403},
		{"Host: evil.test", 403},
		{"Host: evil.test:" + port, 403},
		{"Host: localhost.evil.test:" + port, 403},
		{"Host: 0.0.0.0:" + port, 403},
		{"Host: 127.1:" + port, 403},
		{"Host: evil@localhost:" + port, 400},
		{"Host: evil.test\r\nX-Forwarded-Host: localhost:" + port, 403},
	}
	origins := []struct {
		line  string
		cross bool
	}{
		{"", false},
		{"Origin: http://SAME", false},
		{"Origin: http://evil.test", true},
		{"Origin: null", true},
		{"Origin: http://localhost:1", true},
		{"Sec-Fetch-Site: same-origin", false},
		{"Sec-Fetch-Site: none", false},
		{"Sec-Fetch-Site: same-site", true},
		{"Sec-Fetch-Site: cross-site\r\nOrigin: http://evil.test", true},
	}
	cases := 0
	for _, host := range hosts {
		for _, origin := range origins {
			for _, method := range []string{"GET", "HEAD", "POST", "PATCH", "DELETE"} {
				cases++
				name := strings.TrimPrefix(strings.Split(host.line, "\r\n")[0], "Host: ")
				line := strings.ReplaceAll(origin.line, "SAME", name)
				want := host.want
				unsafe := method != "GET" && method != "HEAD"
				if want == 200 && origin.cross && (unsafe || strings.Contains(line, "Origin")) {
					want = 403
				}
				req := method + " /v1/x HTTP/1.1\r\n" + host.line + "\r\nConnection: close\r\n"
				if line != "" {
					req += line + "\r\n"
				}
				if unsafe {
					req += "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
				} else {
					req += "\r\n"
				}
				resp := raw(t, addr, req)
				if resp.StatusCode != want {
					t.Errorf("%s, %q, %q: status %d, want %d", method, host.line, line, resp.StatusCode, want)
				}
				if want == 403 && method != "HEAD" {
					checkErrorObject(t, resp)
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

func checkErrorObject(t *testing.T, resp *http.Response) {
	t.Helper()
	var body struct {
		Error struct {
			Message, Type, Code string
			Param               *string
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || body.Error.Message == "" ||
		body.Error.Type != "invalid_request_error" || body.Error.Code == "" {
		t.Errorf("a refusal is no OpenAI error object: %v %+v", err, body)
	}
	if resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("a refusal carries a CORS header")
	}
}

func TestGuard_TargetsAndOpenPaths(t *testing.T) {
	addr, port := guarded(t)
	for request, want := range map[string]int{
		"GET http://evil.test/v1/x HTTP/1.1\r\nHost: localhost:" + port: 403, // the target's host counts
		"GET /v1/x HTTP/1.0":                          400,
		"GET /health HTTP/1.0":                        200,
		"GET /health HTTP/1.1\r\nHost: 10.1.2.3:8000": 200,
		"GET /health HTTP/1.1\r\nHost: 10.1.2.3:8000\r\nOrigin: http://a.test":               200,
		"POST /health HTTP/1.1\r\nHost: 10.1.2.3\r\nOrigin: http://a.test":                   403,
		"GET /health/../v1/x HTTP/1.1\r\nHost: evil.test":                                    403,
		"OPTIONS /v1/x HTTP/1.1\r\nHost: localhost:" + port + "\r\nOrigin: http://evil.test": 403,
	} {
		if resp := raw(t, addr, request+"\r\nConnection: close\r\n\r\n"); resp.StatusCode != want {
			t.Errorf("%q: status %d, want %d", request, resp.StatusCode, want)
		}
	}
}

func TestGuard_Bodies(t *testing.T) {
	addr, port := guarded(t)
	over := strings.Repeat("a", maxBody+1)
	length := func(s string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(s), s) }
	chunked := func(s string) string {
		return fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(s), s)
	}
	const isJSON = "Content-Type: application/json\r\n"
	tests := []struct {
		name, rest string
		want       int
	}{
		{"JSON", isJSON + length("{}"), 200},
		{"JSON with a charset", "Content-Type: application/json; charset=utf-8\r\n" + length("{}"), 200},
		{"JSON in chunks", isJSON + chunked("{}"), 200},
		{"no body", length(""), 200},
		{"no type", length("{}"), 415},
		{"no type, in chunks", chunked("{}"), 415},
		{"text", "Content-Type: text/plain\r\n" + length("{}"), 415},
		{"a form", "Content-Type: application/x-www-form-urlencoded\r\n" + length("a=b"), 415},
		{"multipart", "Content-Type: multipart/form-data; boundary=x\r\n" + length("--x--"), 415},
		{"a type that only begins alike", "Content-Type: application/jsonp\r\n" + length("{}"), 415},
		{"compressed", isJSON + "Content-Encoding: gzip\r\n" + length("{}"), 415},
		{"said to be as it is", isJSON + "Content-Encoding: identity\r\n" + length("{}"), 200},
		{"two types", isJSON + "Content-Type: text/plain\r\n" + length("{}"), 415},
		{"at the limit", isJSON + length(over[:maxBody]), 200},
		{"over the limit", isJSON + length(over), 413},
		{"over the limit, only announced", isJSON + "Content-Length: 99999999\r\n\r\n", 413},
		{"over the limit, in chunks", isJSON + chunked(over), 413},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := raw(t, addr, "POST /v1/x HTTP/1.1\r\nHost: localhost:"+port+"\r\nConnection: close\r\n"+tt.rest)
			if resp.StatusCode != tt.want {
				t.Errorf("status %d, want %d", resp.StatusCode, tt.want)
			}
		})
	}
}

func TestGuard_Headers(t *testing.T) {
	addr, port := guarded(t)
	h := raw(t, addr, "GET / HTTP/1.1\r\nHost: localhost:"+port+"\r\nConnection: close\r\n\r\n").Header
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	policy := h.Get("Content-Security-Policy")
	for _, rule := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !slices.Contains(strings.Split(policy, "; "), rule) {
			t.Errorf("policy %q lacks %q", policy, rule)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q allows inline code", policy)
	}
}

func TestNew_RejectsBadConfig(t *testing.T) {
	for _, cfg := range []httpguard.Config{
		{},
		{Hosts: []string{""}},
		{Hosts: []string{"*"}},
		{Hosts: []string{"http://localhost:8000"}},
		{Hosts: []string{"localhost"}, MaxBody: -1},
	} {
		if _, err := httpguard.New(cfg); err == nil {
			t.Errorf("New accepted %+v", cfg)
		}
	}
}

func TestHosts(t *testing.T) {
	tests := []struct {
		listen string
		extra  []string
		has    []string
		hasNot []string
	}{
		{"127.0.0.1:8000", nil, []string{"localhost:8000", "127.0.0.1:8000", "[::1]:8000"}, []string{"localhost", "127.0.0.1"}},
		{":8000", nil, []string{"localhost:8000"}, []string{":8000"}},
		{
			"0.0.0.0:8000",
			[]string{"chat.test", "fe80::1", "a.test:444"},
			[]string{"chat.test", "chat.test:8000", "[fe80::1]", "[fe80::1]:8000", "a.test:444"},
			[]string{"0.0.0.0:8000", "a.test"},
		},
		{"192.168.1.5:80", nil, []string{"192.168.1.5", "192.168.1.5:80", "[::1]"}, nil},
		{"127.0.0.2:8000", nil, []string{"127.0.0.2:8000"}, nil},
	}
	for _, tt := range tests {
		hosts, err := httpguard.Hosts(tt.listen, tt.extra...)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range tt.has {
			if !slices.Contains(hosts, h) {
				t.Errorf("Hosts(%q) = %q lacks %q", tt.listen, hosts, h)
			}
		}
		for _, h := range tt.hasNot {
			if slices.Contains(hosts, h) {
				t.Errorf("Hosts(%q) = %q holds %q", tt.listen, hosts, h)
			}
		}
		if _, err := httpguard.New(httpguard.Config{Hosts: hosts}); err != nil {
			t.Errorf("New refuses %q: %v", hosts, err)
		}
	}
	if _, err := httpguard.Hosts("localhost"); err == nil {
		t.Error("an address without a port was taken")
	}
}

// A browser that came by TLS to a name that the operator configured is told to use TLS only.
func TestGuard_StrictTransport(t *testing.T) {
	guard, err := httpguard.New(httpguard.Config{Hosts: []string{"molar.example", "molar.example:8443", "localhost:8443", "127.0.0.1:8443", "[::1]:8443"}})
	if err != nil {
		t.Fatal(err)
	}
	h := guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for url, want := range map[string]bool{
		"https://molar.example/": true, "https://molar.example:8443/": true, "http://molar.example/": false,
		"https://localhost:8443/": false, "https://127.0.0.1:8443/": false, "https://[::1]:8443/": false,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))
		if got := w.Header().Get("Strict-Transport-Security") != ""; w.Code != 200 || got != want {
			t.Errorf("%s: %d, strict %v, want %v", url, w.Code, got, want)
		}
	}
}
