package ollama_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"molar/providers"
	"molar/providers/chain"
	"molar/providers/ollama"
	"molar/schemas"
)

// A fake is a server that speaks Ollama's wire format. It answers /api/chat with the steps in
// turn, repeating the last one.
type fake struct {
	url string

	mu       sync.Mutex
	steps    []http.HandlerFunc
	requests []chatBody
	shows    int
	unloads  int
	show     string // answer of /api/show; empty means a model with tools
	tags     string
	ps       string
}

// chatBody holds the parts of a request that the tests check.
type chatBody struct {
	Model     string
	Messages  []wireMessage
	Tools     []json.RawMessage
	Options   map[string]any
	Format    json.RawMessage
	Think     any
	KeepAlive any `json:"keep_alive"`
	Stream    *bool
	Truncate  *bool
	Shift     *bool
}

type wireMessage struct {
	Role       string
	Content    string
	Thinking   string
	Images     []string
	ToolName   string `json:"tool_name"`
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string
		Function struct {
			Index     int
			Name      string
			Arguments json.RawMessage
		}
	} `json:"tool_calls"`
}

const toolModel = `{"template":"{{ .Tools }}","model_info":{"general.architecture":"qwen2","qwen2.context_length":32768},"capabilities":["completion","tools"]}`

func newFake(t testing.TB, steps ...http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{steps: steps}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	f.url = srv.URL
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/show":
		f.mu.Lock()
		f.shows++
		answer := f.show
		f.mu.Unlock()
		if answer == "" {
			answer = toolModel
		}
		_, _ = io.WriteString(w, answer)
	case "/api/tags":
		_, _ = io.WriteString(w, f.tags)
	case "/api/ps":
		_, _ = io.WriteString(w, f.ps)
	case "/api/chat":
		f.chat(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) chat(w http.ResponseWriter, r *http.Request) {
	var body chatBody
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, `{"error":"bad JSON"}`, http.StatusBadRequest)
		return
	}
	if len(body.Messages) == 0 {
		f.mu.Lock()
		f.unloads++
		f.mu.Unlock()
		_, _ = io.WriteString(w, `{"model":"m","message":{"role":"assistant","content":""},"done_reason":"unload","done":true}`)
		return
	}
	f.mu.Lock()
	step := f.steps[min(len(f.requests), len(f.steps)-1)]
	f.requests = append(f.requests, body)
	f.mu.Unlock()
	step(w, r)
}

// sent returns the requests so far.
func (f *fake) sent() []chatBody {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]chatBody(nil), f.requests...)
}

// lines answers with a stream of these lines, each flushed.
func lines(list ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		for _, line := range list {
			_, _ = io.WriteString(w, line+"\n")
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// status answers with a status, a body, and pairs of header and value.
func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func say(text string) string {
	content, _ := json.Marshal(text)
	return fmt.Sprintf(`{"model":"m","created_at":"2025-07-07T20:22:19.184789Z","message":{"role":"assistant","content":%s},"done":false}`, content)
}

func toolCall(name, args string) string {
	return fmt.Sprintf(`{"model":"m","created_at":"2025-07-07T20:22:19.184789Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","function":{"index":0,"name":%q,"arguments":%s}}]},"done":false}`, name, args)
}

const (
	end = `{"model":"m","created_at":"2025-07-07T20:22:19.19314Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,` +
		`"total_duration":182242375,"load_duration":41295167,"prompt_eval_count":7,"prompt_eval_duration":24573166,"eval_count":3,"eval_duration":115959084}`
	endLength = `{"model":"m","message":{"role":"assistant","content":""},"done_reason":"length","done":true,"prompt_eval_count":7,"eval_count":3}`
)

func newProvider(t testing.TB, cfg ollama.Config) *ollama.Provider {
	t.Helper()
	p, err := ollama.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// client returns a client with its own transport, which the test closes.
func client(t testing.TB) *http.Client {
	t.Helper()
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// at returns a provider for a fake server.
func at(t testing.TB, f *fake) *ollama.Provider {
	t.Helper()
	return newProvider(t, ollama.Config{BaseURL: f.url, HTTPClient: client(t)})
}

// answer is a joined stream.
type answer struct {
	text, thinking string
	calls          []schemas.ToolCall
	states         []*schemas.ProviderState
	notes          []string
	usage          schemas.Usage
	finish         providers.FinishReason
	err            error
	afterError     bool
}

// ask makes a call as a turn does, with retries.
func ask(ctx context.Context, p *ollama.Provider, req providers.Request) answer {
	return once(ctx, chain.Again(p, 0), req)
}

// once makes a call with a single request.
func once(ctx context.Context, p providers.Provider, req providers.Request) answer {
	var a answer
	var text strings.Builder
	for chunk, err := range p.Stream(ctx, req) {
		a.afterError = a.err != nil
		if err != nil {
			a.err = err
			continue
		}
		text.WriteString(chunk.Text)
		a.thinking += chunk.Thinking
		if chunk.Call != nil {
			a.calls = append(a.calls, *chunk.Call)
			a.states = append(a.states, chunk.State)
		}
		if chunk.Note != "" {
			a.notes = append(a.notes, chunk.Note)
		}
		if chunk.Usage != nil {
			a.usage = *chunk.Usage
		}
		if chunk.Finish != "" {
			a.finish = chunk.Finish
		}
	}
	a.text = text.String()
	return a
}

func question(text string) providers.Request {
	return providers.Request{Model: "m", Messages: []schemas.Message{schemas.Text(schemas.RoleUser, text)}}
}

func weather() []schemas.ToolInfo {
	return []schemas.ToolInfo{{
		Name: "w__get_weather", Server: "w", ToolName: "get_weather", Description: "Get the weather.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}}
}

// body returns a response's body.
func body(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

// stepper is a body that returns one line per read, and then breaks off.
type stepper struct {
	lines []string
	next  int
}

func (s *stepper) Read(b []byte) (int, error) {
	if s.next == len(s.lines) {
		return 0, io.EOF
	}
	n := copy(b, s.lines[s.next]+"\n")
	if s.lines[s.next] = s.lines[s.next][min(n, len(s.lines[s.next])):]; s.lines[s.next] == "" {
		s.next++
	}
	return n, nil
}

func (s *stepper) Close() error { return nil }

// wire is a transport whose answers to /api/chat come from the function; after nil the request blocks
// until it is cancelled.
type wire func(*http.Request) *http.Response

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	if !strings.HasSuffix(r.URL.Path, "/api/chat") {
		return ok(io.NopCloser(strings.NewReader(toolModel))), nil // it lists no models, as needed for /api/ps
	}
	resp := w(r)
	if resp == nil {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return resp, nil
}

func ok(body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body}
}
