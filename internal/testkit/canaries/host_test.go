package _test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/testkit"
	"molar/internal/testkit/models"
	"molar/internal/testkit/oauthserver"
	"molar/internal/testkit/otlpsink"
)

// headerServer is a server that stores a header of its last request.
type headerServer struct {
	mu   sync.Mutex
	last string
}

func (s *headerServer) note(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value != "" {
		s.last = value
	}
}

func (s *headerServer) header() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// host is molar as a program, with all services that it uses.
type host struct {
	dir, program string
	env          []string
	url          string
	cmd          *exec.Cmd
	output       *output
	fake         *models.Server
	login        *oauthserver.Server
	spans        *otlpsink.Sink
	far, model   headerServer
}

type output struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.String()
}

// calls is the model's script: it calls NAME for "call NAME", and answers all other requests with
// text.
func calls(r models.Request) *models.Reply {
	if r.Pass == models.PassJudge || len(r.Roles) == 0 {
		return nil
	}
	if at := strings.Index(r.LastUser, "call "); at >= 0 && r.Roles[len(r.Roles)-1] == "user" && len(r.Tools) > 0 {
		name := strings.Fields(r.LastUser[at:])[1]
		return &models.Reply{Calls: []models.Call{{Name: name, Args: json.RawMessage(`{}`)}}}
	}
	return models.Text("You said " + r.LastUser)
}

const settings = `
default: general
llm:
  provider: ollama
  ollama: {base_url: %q, headers: {X-Team: "${MODEL_HEADER}"}}
  openai: {base_url: %q, key: "${OPENAI_API_KEY}", model: gpt-test}
assistants:
  general: {tools: ["*"]}
  broken: {provider: openai, model: gpt-test, tools: ["*"]}
api_keys: [{name: own, key: "${OWN_KEY}", scopes: [chat, admin, metrics]}]
memory: {store: %q}
telemetry: {log_level: debug}
mcpServers:
  home: {command: %q, args: [%q, %q], env: {TOKEN: "${SERVER_ENV}", KEPT: "${KEPT}"}, trust: true}
  plain: {command: %q, args: [%q, %q], trust: true}
  far: {url: %q, headers: {Authorization: "Bearer ${SERVER_HEADER}"}, trust: true}
  dead: {url: "http://127.0.0.1:9/mcp?key=${SERVER_QUERY}", headers: {Authorization: "Bearer ${SERVER_HEADER}"}}
  gone: {command: /nonexistent/program, args: ["${SERVER_ENV}"], env: {TOKEN: "${SERVER_ENV}"}}
  login: {url: %q, trust: true, oauth: {grant: client_credentials, client_id: robot, client_secret: "${CLIENT_SECRET}"}}
`

func start(t *testing.T) *host {
	t.Helper()
	h := &host{dir: t.TempDir(), output: &output{}, fake: models.New(models.Config{Script: calls}), login: oauthserver.New(), spans: otlpsink.Start()}
	t.Cleanup(h.login.Close)
	t.Cleanup(h.spans.Close)
	h.login.AddClient("robot", canary("oauth-secret"))
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.model.note(r.Header.Get("X-Team"))
		h.fake.ServeHTTP(w, r)
	}))
	t.Cleanup(model.Close)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // as some services do
		http.Error(w, fmt.Sprintf(`{"error":{"message":"Incorrect API key provided: %s","code":"invalid_api_key"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")), http.StatusUnauthorized)
	}))
	t.Cleanup(refuses.Close)
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.far.note(r.Header.Get("Authorization"))
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m)
		if m.Method == "tools/call" && m.Params.Name == "fail" {
			http.Error(w, "who is "+r.Header.Get("Authorization")+"?", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if answer := m.answer(); answer != "" {
			_, _ = io.WriteString(w, answer)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(far.Close)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h.program = testkit.Build(t, "molar/cmd/molar")
	h.write(t, "molar.yaml", fmt.Sprintf(settings, model.URL, refuses.URL+"/v1", filepath.Join(h.dir, "molar.db"),
		self, childArg, filepath.Join(h.dir, "home.env"), self, childArg, filepath.Join(h.dir, "plain.env"), far.URL+"/mcp", h.login.MCP()))
	variables := ""
	for name, value := range keptSecrets() {
		variables += name + "=" + value + "\n"
	}
	h.write(t, "molar.env", variables)
	h.write(t, "postgres.yaml", "memory: {store: \"postgres://molar:"+canary("database")+"@127.0.0.1:9/molar\"}\n")
	h.env = []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "OTEL_EXPORTER_OTLP_ENDPOINT=" + h.spans.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}
	for name, value := range secrets() {
		h.env = append(h.env, name+"="+value)
	}
	h.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), h.program, "serve", "--config", filepath.Join(h.dir, "molar.yaml"), "--listen", "127.0.0.1:0")
	h.cmd.Env, h.cmd.Stdout, h.cmd.Stderr = h.env, h.output, h.output
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.cmd.Process.Kill() })
	h.wait(t, "listens on ")
	_, rest, _ := strings.Cut(h.output.String(), "listens on ")
	h.url = strings.Fields(rest)[0]
	for _, server := range []string{"home", "plain", "far", "login"} {
		h.wait(t, "msg=\"MCP server is ready\" server="+server)
	}
	return h
}

func (h *host) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (h *host) wait(t *testing.T, text string) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !strings.Contains(h.output.String(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%q did not come:\n%s", text, h.output)
		}
	}
}

func (h *host) stop(t *testing.T) {
	t.Helper()
	if err := h.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = h.cmd.Wait() // its output tells how it ended
}

// ask sends a request with a key and returns the whole answer.
func (h *host) ask(t *testing.T, key, method, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.Status + "\n" + string(text)
}

// run runs a command of the program and returns its output.
func (h *host) run(t *testing.T, config string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.program, append(args, "--config", filepath.Join(h.dir, config))...)
	cmd.Env = slices.DeleteFunc(slices.Clone(h.env), func(v string) bool { return strings.HasPrefix(v, "OTEL_") })
	out, _ := cmd.CombinedOutput() // many of them fail, as expected
	return string(out)
}
