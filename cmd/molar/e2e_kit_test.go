package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/testkit/models"
	"molar/schemas"
)

// patience bounds every wait of these tests. It is long, since the machine may be busy.
const patience = time.Minute

// lines is a stream of output that a test can wait on.
type lines struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newLines() *lines { return &lines{changed: make(chan struct{})} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return l.text.Write(p)
}

func (l *lines) read() (text string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), l.changed
}

func (l *lines) String() string {
	text, _ := l.read()
	return text
}

// wait returns the output as soon as it contains want. A closed ended means that no more output
// will come.
func (l *lines) wait(t *testing.T, want string, ended <-chan struct{}) string {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		text, changed := l.read()
		if strings.Contains(text, want) {
			return text
		}
		select {
		case <-changed:
		case <-ended:
			if text, _ = l.read(); !strings.Contains(text, want) {
				t.Fatalf("ended without %q:\n%s", want, text)
			}
		case <-late.C:
			t.Fatalf("%q did not come within %s:\n%s", want, patience, text)
		}
	}
}

// eventually asks until ok, for what another process or goroutine does in its own
// time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late, again := time.NewTimer(patience), time.NewTicker(10*time.Millisecond)
	defer late.Stop()
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-late.C:
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// A served host is "molar serve" in this process, with a real listener.
type served struct {
	url            string
	stdout, stderr *lines
	client         *http.Client
	// stop interrupts it and returns the exit code.
	stop func() int
}

// serveHost starts "molar serve" and returns when it listens. Without a model, the address of
// Ollama is unreachable.
func serveHost(t *testing.T, config string, model *models.Server, args ...string) *served {
	t.Helper()
	return serveIn(t, homeEnv(t, model), config, args...)
}

// serveIn is serveHost with an environment of the test's own.
func serveIn(t *testing.T, env map[string]string, config string, args ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &served{stdout: newLines(), stderr: newLines(), client: &http.Client{Transport: &http.Transport{}}}
	ended := make(chan struct{})
	code := 0
	go func() {
		defer close(ended)
		args := append([]string{"serve", "--listen", "127.0.0.1:0", "--config", config}, args...)
		code = execute(ctx, args, lookup(env), strings.NewReader(""), s.stdout, s.stderr)
	}()
	s.stop = func() int {
		s.client.CloseIdleConnections()
		cancel()
		<-ended
		return code
	}
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("standard error of serve:\n%s", s.stderr)
		}
	})
	_, rest, _ := strings.Cut(s.stdout.wait(t, "\n", ended), "molar listens on ")
	s.url, _, _ = strings.Cut(rest, "\n")
	return s
}

// homeEnv is an environment with an empty home folder and nothing of the person who
// runs the tests.
func homeEnv(t *testing.T, model *models.Server) map[string]string {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"HOME": home, "USERPROFILE": home, "PATH": os.Getenv("PATH"), "OLLAMA_BASE_URL": "http://127.0.0.1:9"}
	if model != nil {
		env["OLLAMA_BASE_URL"] = model.URL()
	}
	return env
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

// startModel starts a scripted Ollama on loopback.
func startModel(t *testing.T, cfg models.Config) *models.Server {
	t.Helper()
	s := models.New(cfg)
	if _, err := s.Start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// isSummary reports whether a call comes from the summary worker, not from a turn.
func isSummary(r models.Request) bool {
	return strings.Contains(r.Body, "Summarise the last exchange") || strings.Contains(r.Body, "Hãy tóm tắt lượt trao đổi") ||
		strings.Contains(r.Body, "Name the conversation below") || strings.Contains(r.Body, "Hãy đặt tên cho cuộc trò chuyện")
}

// isWarmUp reports whether a call is the one of one token with which serve loads the small model.
func isWarmUp(r models.Request) bool { return r.MaxTokens == 1 }

// asked returns the model calls of turns, without those of the summary worker and the warm-up.
func asked(s *models.Server) []models.Request {
	var calls []models.Request
	for _, r := range s.Requests() {
		if !isSummary(r) && !isWarmUp(r) {
			calls = append(calls, r)
		}
	}
	return calls
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// do sends a request and returns status and body.
func (s *served) do(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// get reads a JSON document of a route that answers 200.
func (s *served) get(t *testing.T, path string, into any) {
	t.Helper()
	status, body := s.do(t, http.MethodGet, path, "")
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
}

// A conversation is GET /v1/conversations/{id}.
type conversation struct {
	Summary  string                  `json:"summary"`
	Messages []schemas.StoredMessage `json:"messages"`
}

// A molarNote is the molar object of an answer.
type molarNote struct {
	Type       string   `json:"type"`
	Saved      bool     `json:"saved"`
	Refused    bool     `json:"refused"`
	ModelCalls int      `json:"model_calls"`
	TurnID     string   `json:"turn_id"`
	Warnings   []string `json:"warnings"`
	Results    []struct {
		Result schemas.ToolResult `json:"result"`
	} `json:"results"`
}

// An apiFault is an OpenAI error object.
type apiFault struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    string `json:"code"`
}

// A servedAnswer is a turn as a client sees it, whole or streamed.
type servedAnswer struct {
	text, conversation, finish string
	molar                      molarNote
	fault                      *apiFault
	closed                     bool // the stream ended with [DONE]
}

// chunk is a chat.completion or a chunk of one.
type chunk struct {
	Fingerprint string `json:"system_fingerprint"`
	Choices     []struct {
		Message, Delta struct {
			Content string `json:"content"`
		}
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Molar *molarNote `json:"molar"`
	Error *apiFault  `json:"error"`
}

// ask sends a question to an assistant and returns the whole answer.
func (s *served) ask(t *testing.T, assistant, chat, question string) servedAnswer {
	t.Helper()
	status, body := s.do(t, http.MethodPost, "/v1/chat/completions", questionBody(assistant, chat, question, false))
	var c chunk
	if err := json.Unmarshal([]byte(body), &c); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	return servedAnswer{text: c.Choices[0].Message.Content, conversation: c.Fingerprint, finish: c.Choices[0].FinishReason, molar: *c.Molar}
}

// stream sends a question and reads the stream to its end.
func (s *served) stream(t *testing.T, assistant, chat, question string) servedAnswer {
	t.Helper()
	status, body := s.do(t, http.MethodPost, "/v1/chat/completions", questionBody(assistant, chat, question, true))
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	return readStream(t, body)
}

// questionBody is a request with one user message.
func questionBody(assistant, chat, question string, stream bool) string {
	body, _ := json.Marshal(map[string]any{
		"model": assistant, "chat_id": chat, "stream": stream, "molar": map[string]bool{"events": true},
		"messages": []map[string]string{{"role": "user", "content": question}},
	})
	return string(body)
}

// readStream reads a whole event stream and fails on anything that is not an event of
// an OpenAI stream.
func readStream(t *testing.T, body string) servedAnswer {
	t.Helper()
	var a servedAnswer
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data, isData := strings.CutPrefix(event, "data: ")
		switch {
		case strings.HasPrefix(event, ":"):
			continue
		case !isData || strings.Contains(data, "\n") || a.closed:
			t.Fatalf("not an event of the stream: %q", event)
		case data == "[DONE]":
			a.closed = true
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("%v: %q", err, data)
		}
		a.add(c)
	}
	return a
}

func (a *servedAnswer) add(c chunk) {
	if c.Error != nil {
		a.fault = c.Error
	}
	if c.Fingerprint != "" {
		a.conversation = c.Fingerprint
	}
	if c.Molar != nil && c.Molar.Type == "done" {
		a.molar = *c.Molar
	}
	for _, choice := range c.Choices {
		a.text += choice.Delta.Content
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
}
