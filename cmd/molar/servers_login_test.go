package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"molar/internal/cli"
	"molar/internal/testkit/oauthserver"
	"molar/schemas"
)

// A loginCall is "molar servers login" in this process.
type loginCall struct {
	stdout, stderr *lines
	stdin          *io.PipeWriter
	stop           context.CancelFunc
	ended          chan struct{}
	code           int
}

// callLogin starts the command. Its end is awaited when the test ends.
func callLogin(t *testing.T, env map[string]string, args ...string) *loginCall {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	in, out := io.Pipe()
	c := &loginCall{stdout: newLines(), stderr: newLines(), stdin: out, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.code = execute(ctx, append([]string{"servers", "login"}, args...), lookup(env), in, c.stdout, c.stderr)
	}()
	t.Cleanup(func() {
		stop()
		_ = out.Close()
		<-c.ended
	})
	return c
}

// address waits for the address to open.
func (c *loginCall) address(t *testing.T) string {
	t.Helper()
	text := c.stderr.wait(t, "code_challenge_method=S256", c.ended)
	return regexp.MustCompile(`(?m)^http\S+/authorize\?\S+$`).FindString(text)
}

// wait returns the exit code.
func (c *loginCall) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-c.ended:
		return c.code
	case <-time.After(2 * patience):
		t.Fatalf("still running:\n%s\n%s", c.stdout, c.stderr)
		return 0
	}
}

// browse opens an address as a browser would, to the page at its end, and returns that.
func browse(t *testing.T, address string, follow bool) (status int, location, page string) {
	t.Helper()
	browser := http.Client{Timeout: 2 * patience, Transport: &http.Transport{}}
	defer browser.CloseIdleConnections()
	if !follow {
		browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Location"), string(body)
}

// guardedHost starts a server that requires a login, and returns it with a config that names it
// and a home folder.
func guardedHost(t *testing.T) (s *oauthserver.Server, env map[string]string, file string) {
	t.Helper()
	s = oauthserver.New()
	t.Cleanup(s.Close)
	env = homeEnv(t, nil)
	env["XDG_DATA_HOME"] = t.TempDir()
	return s, env, writeFile(t, "molar.yaml", fmt.Sprintf("mcpServers:\n  far: {url: %q}\n  near: {command: nothing}\n", s.MCP()))
}

// The whole way: a host that runs, a login in the browser, the tools, the logout; and
// no token in anything that a person sees.
func TestServersLogin(t *testing.T) {
	t.Parallel()
	s, env, file := guardedHost(t)
	host := serveIn(t, env, file)
	far := func() schemas.ServerStatus {
		t.Helper()
		var list struct{ Data []schemas.ServerStatus }
		host.get(t, "/v1/servers", &list)
		for _, one := range list.Data {
			if one.Name == "far" {
				return one
			}
		}
		t.Fatal("there is no server far")
		return schemas.ServerStatus{}
	}
	eventually(t, "the server wants a login", func() bool {
		return strings.Contains(far().Reason, "wants a login: run molar servers login far")
	})
	login := callLogin(t, env, "far", "--config", file)
	status, _, page := browse(t, login.address(t), true)
	if status != http.StatusOK || !strings.Contains(page, "You are logged in") || strings.Contains(page, "canary") {
		t.Errorf("the browser ends at %d: %s", status, page)
	}
	if code := login.wait(t); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, login.stderr)
	}
	if out := login.stdout.String(); !strings.Contains(out, "logged in to far at "+s.IssuerURL()+", scope read") || !strings.Contains(out, "far ready (http), 1 tool") {
		t.Errorf("standard output: %s", out)
	}
	eventually(t, "the running host takes the login up", func() bool { return far().State == schemas.StateReady })
	if code, body := host.do(t, http.MethodPost, "/v1/tools/far__add/call", `{}`); code != http.StatusOK {
		t.Errorf("the tool: %d %s", code, body)
	}
	printed := login.stdout.String() + login.stderr.String() + host.stdout.String() + host.stderr.String()
	for _, path := range []string{"/v1/servers", "/v1/calls", "/config", "/tools", "/metrics"} {
		_, body := host.do(t, http.MethodGet, path, "")
		printed += body
	}
	for _, secret := range s.Secrets() {
		if strings.Contains(printed, secret) {
			t.Errorf("%s was printed", secret)
		}
	}
	out := callLogin(t, env, "far", "--logout", "--config", file)
	if code := out.wait(t); code != 0 || out.stdout.String() != "logged out of far\n" || s.Counts().Revoked != 1 {
		t.Errorf("exit code %d: %s%s", code, out.stdout, out.stderr)
	}
	var audit struct{ Data []schemas.AuditLine }
	host.get(t, "/v1/audit", &audit)
	var events []string
	for _, line := range audit.Data {
		events = append(events, line.Person+" "+line.Event+" "+line.Server)
	}
	if got := strings.Join(events, ", "); got != "operator login far, operator logout far" {
		t.Errorf("the audit: %s", got)
	}
	eventually(t, "the running host notices the logout", func() bool {
		_, _ = host.do(t, http.MethodPost, "/v1/tools/far__add/call", `{}`)
		return far().State == schemas.StateFailed
	})
	if faults := s.Faults(); faults != nil || s.Counts().Strays != 0 {
		t.Errorf("rules that were broken: %q", faults)
	}
	info, err := os.Stat(filepath.Join(env["XDG_DATA_HOME"], "molar", "molar.db"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the database: %v, %v", info.Mode(), err)
	}
}

// Without a browser here the person pastes the address that theirs ended at.
func TestServersLogin_Pasted(t *testing.T) {
	t.Parallel()
	s, env, file := guardedHost(t)
	login := callLogin(t, env, "far", "--no-browser", "--output-format", "json", "--config", file)
	_, back, _ := browse(t, login.address(t), false)
	_, _ = fmt.Fprintf(login.stdin, "what?\n\n%s\n", back)
	if code := login.wait(t); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, login.stderr)
	}
	var told struct {
		Server, Issuer string
		Renews         bool
		Status         schemas.ServerStatus
	}
	if err := json.Unmarshal([]byte(login.stdout.String()), &told); err != nil || told.Server != "far" || !told.Renews || told.Status.State != schemas.StateReady {
		t.Errorf("%+v, %v", told, err)
	}
	if !strings.Contains(login.stderr.String(), "this is not that address") {
		t.Errorf("standard error: %s", login.stderr)
	}
	flag := callLogin(t, env, "away", "--mcp", "away="+s.MCP(), "--no-browser", "--config", file)
	flag.address(t)
	flag.stop()
	if code := flag.wait(t); code != cli.Interrupted {
		t.Errorf("a server of the command line: exit code %d: %s", code, flag.stderr)
	}
	wrong := callLogin(t, env, "far", "--no-browser", "--config", file)
	wrong.address(t)
	_, _ = fmt.Fprintln(wrong.stdin, strings.TrimSpace(back)) // of the login before
	if code := wrong.wait(t); code != 1 || !strings.Contains(wrong.stderr.String(), "its state differs") {
		t.Errorf("exit code %d: %s", code, wrong.stderr)
	}
	if s.Counts().Codes != 1 {
		t.Error("the code went out twice")
	}
}

func TestServersLogin_Ends(t *testing.T) {
	t.Parallel()
	s, env, file := guardedHost(t)
	interrupted := callLogin(t, env, "far", "--config", file)
	interrupted.address(t)
	interrupted.stop()
	if code := interrupted.wait(t); code != cli.Interrupted {
		t.Errorf("exit code %d: %s", code, interrupted.stderr)
	}
	late := callLogin(t, env, "far", "--wait", "300ms", "--config", file)
	if code := late.wait(t); code != cli.Failure || !strings.Contains(late.stderr.String(), "within 300ms") {
		t.Errorf("exit code %d: %s", code, late.stderr)
	}
	s.Behave(func(b *oauthserver.Behaviour) { b.Denies = true })
	denied := callLogin(t, env, "far", "--config", file)
	status, _, page := browse(t, denied.address(t), true)
	if code := denied.wait(t); code != cli.Failure || status != http.StatusBadRequest || !strings.Contains(page, "the terminal says why") ||
		!strings.Contains(denied.stderr.String(), "access_denied") {
		t.Errorf("exit code %d, page %d %s: %s", code, status, page, denied.stderr)
	}
	s.Behave(func(b *oauthserver.Behaviour) { b.Issuer = "https://evil.example" })
	hostile := callLogin(t, env, "far", "--config", file)
	if code := hostile.wait(t); code != cli.Failure || !strings.Contains(hostile.stderr.String(), "a login would not be safe") {
		t.Errorf("exit code %d: %s", code, hostile.stderr)
	}
	if s.Counts().Codes != 0 {
		t.Error("a code was exchanged")
	}
}

func TestServersLogin_Usage(t *testing.T) {
	t.Parallel()
	_, env, file := guardedHost(t)
	headers := writeFile(t, "headers.yaml", "mcpServers: {far: {url: 'https://x.example', headers: {authorization: x}}}\n")
	for _, tt := range []struct {
		args, want string
		code       int
	}{
		{"other --config " + file, "no server is called", cli.Misuse},
		{"near --config " + file, "it is not an HTTP server", cli.Misuse},
		{"memory-server --config " + file, "no server is called", cli.Misuse},
		{"--config " + file, "accepts 1 arg", cli.Misuse},
		{"far --config " + headers, "has Authorization already", cli.Misuse},
		{"far --output-format xml --config " + file, "choose text or json", cli.Misuse},
		{"far --logout --config " + file, "", cli.OK},
	} {
		var stdout, stderr bytes.Buffer
		code := execute(t.Context(), append([]string{"servers", "login"}, strings.Fields(tt.args)...), lookup(env), strings.NewReader(""), &stdout, &stderr)
		if code != tt.code || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("%s: exit code %d: %s", tt.args, code, stderr.String())
		}
	}
}
