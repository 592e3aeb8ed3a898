package openai_test

import (
	"bytes"
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
	"molar/providers/openai"
	"molar/schemas"
)

// A fake is a server that speaks OpenAI's wire format below /v1. It answers chat/completions with
// the steps in turn, repeating the last one.
type fake struct {
	url string

	mu      sync.Mutex
	steps   []http.HandlerFunc
	sent    []map[string]any
	headers []http.Header
	paths   []string
}

func newFake(t testing.TB, steps ...http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{steps: steps}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	f.url = srv.URL + "/v1"
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(data)) // a step may read it too
	var sent map[string]any
	_ = json.Unmarshal(data, &sent)
	f.mu.Lock()
	step := f.steps[min(len(f.sent), len(f.steps)-1)]
	f.sent = append(f.sent, sent)
	f.headers = append(f.headers, r.Header.Clone())
	f.paths = append(f.paths, r.Method+" "+r.URL.RequestURI())
	f.mu.Unlock()
	step(w, r)
}

func (f *fake) requests() []map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]map[string]any(nil), f.sent...)
}

// header returns the headers of the server's first request, path its method and path.
func (f *fake) header() http.Header {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.headers[0]
}

func (f *fake) path() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paths[0]
}

// stream answers with these events, each flushed.
func stream(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = io.WriteString(w, "data: "+e+"\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// raw answers with this body.
func raw(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
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

const (
	head = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,`
	tail = `}]}`
	role = head + `"delta":{"role":"assistant","content":""},"finish_reason":null` + tail
	stop = head + `"delta":{},"finish_reason":"stop"` + tail
	call = head + `"delta":{},"finish_reason":"tool_calls"` + tail
	used = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`
	done = "[DONE]"
)

func say(text string) string {
	content, _ := json.Marshal(text)
	return head + `"delta":{"content":` + string(content) + `},"finish_reason":null` + tail
}

// tool returns a chunk with these pieces of tool calls.
func tool(pieces string) string {
	return head + `"delta":{"tool_calls":[` + pieces + `]},"finish_reason":null` + tail
}

// begin returns the first piece of a call in OpenAI's form, more a later one.
func begin(index int, id, name string) string {
	return tool(fmt.Sprintf(`{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":""}}`, index, id, name))
}

func more(index int, args string) string {
	return tool(fmt.Sprintf(`{"index":%d,"function":{"arguments":%q}}`, index, args))
}

func newProvider(t testing.TB, cfg openai.Config) *openai.Provider {
	t.Helper()
	if cfg.HTTPClient == nil {
		tr := &http.Transport{MaxIdleConnsPerHost: 64}
		t.Cleanup(tr.CloseIdleConnections)
		cfg.HTTPClient = &http.Client{Transport: tr}
	}
	p, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// at returns a provider for a fake server.
func at(t testing.TB, f *fake) *openai.Provider {
	t.Helper()
	return newProvider(t, openai.Config{BaseURL: f.url})
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
	afterEnd       bool
}

func ask(ctx context.Context, p providers.Provider, req providers.Request) answer {
	var a answer
	var text strings.Builder
	for chunk, err := range p.Stream(ctx, req) {
		a.afterEnd = a.afterEnd || a.err != nil || a.finish != ""
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

// askWithRetries makes a call as a turn does, with retries.
func askWithRetries(ctx context.Context, p providers.Provider, req providers.Request) answer {
	return ask(ctx, chain.Again(p, 0), req)
}

// functions returns the calls of an answer without their ids.
func (a answer) functions() []schemas.FunctionCall {
	var out []schemas.FunctionCall
	for _, c := range a.calls {
		out = append(out, c.Function)
	}
	return out
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

// wire is a transport whose answers come from the function; after nil the request blocks until it is
// cancelled.
type wire func(*http.Request) *http.Response

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	if resp := w(r); resp != nil {
		return resp, nil
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func ok(body io.Reader) *http.Response {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body)}
}

// over returns a provider whose every answer has this body.
func over(t testing.TB, body func() io.Reader) *openai.Provider {
	t.Helper()
	return newProvider(t, openai.Config{API: openai.APIChat, HTTPClient: &http.Client{Transport: wire(func(*http.Request) *http.Response {
		return ok(body())
	})}})
}

// events returns the text of a stream.
func events(list ...string) string {
	var b strings.Builder
	for _, e := range list {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}
