package gemini_test

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
	"molar/providers/gemini"
	"molar/schemas"
)

const (
	testKey = "AIza-test-key-0123456789"
	model   = "gemini-3-flash"
)

// A fake is a service that speaks Gemini's wire format. It answers with the steps in turn,
// repeating the last one.
type fake struct {
	url string

	mu    sync.Mutex
	steps []http.HandlerFunc
	sent  []request
}

// request holds the parts of a request that the tests check.
type request struct {
	Path   string
	Query  string
	Header http.Header
	Raw    string

	Contents          []wireContent
	SystemInstruction *wireContent
	Tools             []struct {
		FunctionDeclarations []struct {
			Name, Description    string
			ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
		}
		GoogleSearch map[string]any
	}
	ToolConfig struct {
		FunctionCallingConfig struct {
			Mode                 string
			AllowedFunctionNames []string
		}
	}
	GenerationConfig map[string]json.RawMessage
}

type wireContent struct {
	Role  string
	Parts []json.RawMessage
}

// shape returns the contents with their parts, one per line, for comparison.
func (r request) shape() []string {
	var out []string
	for _, c := range r.Contents {
		line := c.Role
		for _, p := range c.Parts {
			line += " " + string(p)
		}
		out = append(out, line)
	}
	return out
}

func newFake(t testing.TB, steps ...http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{steps: steps}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	f.url = srv.URL
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	req := request{Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header, Raw: string(raw)}
	if err == nil {
		err = json.Unmarshal(raw, &req)
	}
	if err != nil {
		http.Error(w, `{"error":{"code":400,"message":"bad JSON","status":"INVALID_ARGUMENT"}}`, http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	step := f.steps[min(len(f.sent), len(f.steps)-1)]
	f.sent = append(f.sent, req)
	f.mu.Unlock()
	step(w, r)
}

func (f *fake) requests() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]request(nil), f.sent...)
}

// events answers with a stream of these events, each flushed.
func events(list ...string) http.HandlerFunc { return raw(sse(list...)) }

// sse formats events as the service does.
func sse(list ...string) string {
	var b strings.Builder
	for _, e := range list {
		b.WriteString("data: " + e + "\r\n\r\n")
	}
	return b.String()
}

// raw answers 200 with this body.
func raw(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range strings.SplitAfter(body, "\n\n") {
			_, _ = io.WriteString(w, piece)
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

func fault(code int, grpc, message, details string) string {
	if details == "" {
		details = "[]"
	}
	return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q,"details":%s}}`, code, message, grpc, details)
}

// parts returns an event with these parts; ending adds a finish reason and usage.
func parts(list ...string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(list, ",") + `]},"index":0}],"modelVersion":"m","responseId":"r"}`
}

func ending(reason string, list ...string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(list, ",") + `]},"finishReason":"` + reason +
		`","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"thoughtsTokenCount":7,"toolUsePromptTokenCount":3,"totalTokenCount":15}}`
}

func say(s string) string {
	b, _ := json.Marshal(s)
	return `{"text":` + string(b) + `}`
}

func newProvider(t testing.TB, cfg gemini.Config) *gemini.Provider {
	t.Helper()
	if cfg.APIKey == "" {
		cfg.APIKey = testKey
	}
	p, err := gemini.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// at returns a provider for a fake service.
func at(t testing.TB, f *fake) *gemini.Provider {
	t.Helper()
	return newProvider(t, gemini.Config{BaseURL: f.url})
}

// answer is a stream joined to one message, as the agent does.
type answer struct {
	text, thinking string
	message        schemas.Message
	calls          []schemas.ToolCall
	sources        []schemas.Source
	notes          []string
	usage          schemas.Usage
	finish         providers.FinishReason
	chunks         int
	err            error
	afterEnd       bool
}

func ask(ctx context.Context, p *gemini.Provider, req providers.Request) answer {
	return once(ctx, chain.Again(p, 0), req)
}

// once makes a call with a single request.
func once(ctx context.Context, p providers.Provider, req providers.Request) answer {
	a := answer{message: schemas.Message{Role: schemas.RoleAssistant}}
	for chunk, err := range p.Stream(ctx, req) {
		a.afterEnd = a.afterEnd || a.err != nil || a.finish != ""
		if err != nil {
			a.err = err
			continue
		}
		a.chunks++
		if chunk.Retract {
			a.text, a.thinking, a.message.Parts = "", a.thinking+a.text, nil
		}
		a.text += chunk.Text
		a.thinking += chunk.Thinking
		switch {
		case chunk.Call != nil:
			a.calls = append(a.calls, *chunk.Call)
			a.message.Parts = append(a.message.Parts, schemas.Part{Kind: schemas.PartCall, Call: chunk.Call, State: chunk.State})
		case chunk.Text != "" || chunk.State != nil:
			a.message.Parts = append(a.message.Parts, schemas.Part{Kind: schemas.PartText, Text: chunk.Text, State: chunk.State})
		}
		a.sources = append(a.sources, chunk.Sources...)
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
	return a
}

func question(text string) providers.Request {
	return providers.Request{Model: model, Messages: []schemas.Message{schemas.Text(schemas.RoleUser, text)}}
}

func weather() schemas.ToolInfo {
	return schemas.ToolInfo{
		Name: "w__get_weather", Server: "w", ToolName: "get_weather", Description: "Get the weather.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}
}

// results returns the results of calls, each with its text.
func results(calls []schemas.ToolCall, texts ...string) schemas.Message {
	m := schemas.Message{Role: schemas.RoleTool}
	for i, c := range calls {
		output, _ := json.Marshal(texts[i])
		m.Parts = append(m.Parts, schemas.Part{Kind: schemas.PartResult, Result: &schemas.ToolResult{
			ID: c.ID, ToolName: strings.TrimPrefix(c.Function.Name, "w__"), Server: "w", Output: output,
		}})
	}
	return m
}
