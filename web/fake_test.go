package web_test

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web"
	"molar/web/turns"
	"molar/web/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(closingBrowsers{m}) }

// closingBrowsers runs the tests and closes their shared browsers.
type closingBrowsers struct{ *testing.M }

func (c closingBrowsers) Run() int {
	defer chromium.close()
	return c.M.Run()
}

var created = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// script plays a turn. It returns the error that ends the turn, and stops when yield returns false.
type script func(ctx context.Context, t agent.Turn, yield func(answer.Event) bool) error

func (s script) Run(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error] {
	return func(yield func(answer.Event, error) bool) {
		gone := false
		err := s(ctx, t, func(ev answer.Event) bool {
			gone = gone || !yield(ev, nil)
			return !gone
		})
		if err != nil && !gone {
			yield(answer.Event{}, err)
		}
	}
}

// play returns a script that yields the events and then the error, if there is one.
func play(err error, events ...answer.Event) script {
	return func(_ context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
		for _, ev := range events {
			if !yield(ev) {
				return nil
			}
		}
		return err
	}
}

// keep records the last turn that it runs.
type keep struct{ turn agent.Turn }

func (k *keep) Run(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error] {
	k.turn = t
	return play(nil, start(), done()).Run(ctx, t)
}

func start() answer.Event {
	return answer.Event{Kind: answer.KindStart, Start: &answer.Start{
		TurnID: "t1", ConversationID: "c1", Assistant: "dental", Created: created,
	}}
}

func text(s string) answer.Event { return answer.Event{Kind: answer.KindText, Text: s} }

func done() answer.Event {
	return answer.Event{Kind: answer.KindDone, Done: &answer.Done{
		Finish: "stop", Provider: "ollama", Model: "qwen", Language: "en", Saved: true, ModelCalls: 2, ToolCalls: 1,
		Usage: schemas.Usage{PromptTokens: 3, CompletionTokens: 2, TotalTokens: 5},
	}}
}

var call = schemas.ToolCall{ID: "k1", Function: schemas.FunctionCall{Name: "family__search", Arguments: `{"q":"Lê"}`}}

func toolCall() answer.Event {
	return answer.Event{Kind: answer.KindToolCall, Step: "6.3", Call: &call, Server: "family", ToolName: "search", Effect: true}
}

func toolResult() answer.Event {
	return answer.Event{
		Kind: answer.KindToolResult, Step: "6.3", Call: &call, Server: "family", ToolName: "search", Effect: true,
		Result: &schemas.ToolResult{ToolName: "search", ID: "k1", Output: json.RawMessage(`{"n":1}`), Duration: 1500 * time.Millisecond},
	}
}

// fakeStore implements all stores with fixed data; the id "c1" exists.
type fakeStore struct {
	err   error
	calls []string
}

func (f *fakeStore) List(_ context.Context, _, q string, limit int, after string) ([]schemas.Conversation, string, error) {
	f.calls = append(f.calls, "list "+q+" "+after)
	if limit == 1 {
		return []schemas.Conversation{{ID: "c1", Title: "Teeth", Messages: 2, CreatedAt: created, UpdatedAt: created}}, "next1", f.err
	}
	return nil, "", f.err
}

func (f *fakeStore) Messages(_ context.Context, _, id string) ([]schemas.StoredMessage, string, bool, error) {
	if id != "c1" {
		return nil, "", false, f.err
	}
	return []schemas.StoredMessage{{Seq: 1, Role: schemas.RoleUser, Content: "hi", Timestamp: created}}, "a summary", true, f.err
}

func (f *fakeStore) Branch(ctx context.Context, owner, id, tip string) ([]schemas.StoredMessage, error) {
	f.calls = append(f.calls, "branch "+tip)
	if tip != "t1" {
		return nil, agent.ErrNotFound
	}
	m, _, _, err := f.Messages(ctx, owner, id)
	return m, err
}

func (f *fakeStore) Tree(ctx context.Context, owner, id string) ([]schemas.StoredMessage, error) {
	f.calls = append(f.calls, "tree")
	m, _, _, err := f.Messages(ctx, owner, id)
	return m, err
}

func (f *fakeStore) change(what, id string) error {
	f.calls = append(f.calls, what)
	if id != "c1" {
		return agent.ErrNotFound
	}
	return f.err
}

func (f *fakeStore) Rename(_ context.Context, _, id, title string) error {
	return f.change("rename "+title, id)
}
func (f *fakeStore) Clear(_ context.Context, _, id string) error  { return f.change("clear", id) }
func (f *fakeStore) Delete(_ context.Context, _, id string) error { return f.change("delete", id) }

func (f *fakeStore) Trace(_ context.Context, _, id string) (json.RawMessage, bool, error) {
	return json.RawMessage(`{"turn_id":"t1"}`), id == "t1", f.err
}

func (f *fakeStore) Tools() []schemas.Tool {
	return []schemas.Tool{{ToolInfo: schemas.ToolInfo{
		Name: "family__search", Server: "family", ToolName: "search",
		InputSchema: json.RawMessage(`{"type":"object"}`),
	}, Rules: schemas.ToolRules{Policy: schemas.PolicyConfirm, ReadOnly: true}}}
}

func (f *fakeStore) Status() []schemas.ServerStatus {
	return []schemas.ServerStatus{{Name: "family", State: schemas.StateReady, Transport: "stdio", Tools: 1, Since: created}}
}

// maxBody is the largest body in these tests, in bytes.
const maxBody = 64 << 10

func config(t testing.TB, run turns.Runner) web.Config {
	t.Helper()
	guard, err := httpguard.New(httpguard.Config{Hosts: []string{"example.com"}, Open: []string{"/health", "/ready"}, MaxBody: maxBody, Setting: wire.BodySetting, Files: []string{"/v1/chat/completions", "/chat", "/v1/responses"}})
	if err != nil {
		t.Fatal(err)
	}
	store := &fakeStore{}
	return web.Config{
		Agent: run, Conversations: store, Tools: store, Servers: store, Traces: store, Guard: guard,
		Models: func() []schemas.AssistantInfo {
			return []schemas.AssistantInfo{{Name: "dental", Description: "About teeth."}}
		},
		Now:     func() time.Time { return created },
		Version: "1.2.3",
		MaxBody: maxBody,
	}
}

func handler(t testing.TB, run turns.Runner) http.Handler {
	t.Helper()
	return build(t, config(t, run))
}

func build(t testing.TB, cfg web.Config) http.Handler {
	t.Helper()
	h, err := web.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// live starts a real server with the handler of cfg, and allows its host.
func live(t testing.TB, cfg web.Config) *httptest.Server {
	t.Helper()
	var h http.Handler
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	t.Cleanup(ts.Close)
	guard, err := httpguard.New(httpguard.Config{Hosts: []string{ts.Listener.Addr().String()}, Forms: []string{"/login"}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Guard, cfg.MaxBody = guard, httpguard.DefaultMaxBody
	h = build(t, cfg)
	return ts
}

func request(method, path, body string) *http.Request {
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, "http://example.com"+path, r)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// post sends a body to the chat endpoint.
func post(h http.Handler, body string) *httptest.ResponseRecorder {
	return serve(h, request(http.MethodPost, "/v1/chat/completions", body))
}

type wireError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

// errorOf decodes an OpenAI error object.
func errorOf(t *testing.T, body []byte) (code, param, message string) {
	t.Helper()
	var e wireError
	if err := json.Unmarshal(body, &e); err != nil || e.Error.Message == "" || e.Error.Type == "" {
		t.Fatalf("not an OpenAI error object: %q (%v)", body, err)
	}
	if e.Error.Code != nil {
		code = *e.Error.Code
	}
	if e.Error.Param != nil {
		param = *e.Error.Param
	}
	return code, param, e.Error.Message
}
