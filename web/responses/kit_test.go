package responses_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web"
	"molar/web/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(counting{m}) }

// counting reports how many answers the tests have checked against the document of the standard.
type counting struct{ *testing.M }

func (c counting) Run() int {
	code := c.M.Run()
	if n := checked.Load(); n > 0 {
		fmt.Printf("%d responses, items and events were checked by the document of Open Responses\n", n)
	}
	return code
}

// A script plays the events of a turn; say returns false when nobody reads them any more.
type script func(ctx context.Context, t agent.Turn, say func(answer.Event) bool) error

// A fakeAgent runs a script, and records the turns that it runs.
type fakeAgent struct {
	script script
	mu     sync.Mutex
	asked  []agent.Turn
}

func (f *fakeAgent) Run(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error] {
	f.mu.Lock()
	f.asked = append(f.asked, t)
	f.mu.Unlock()
	return func(yield func(answer.Event, error) bool) {
		gone := false
		say := func(ev answer.Event) bool {
			gone = gone || !yield(ev, nil)
			return !gone
		}
		conversation := t.ConversationID
		if conversation == "" {
			conversation = "chat_" + t.ID
		}
		say(answer.Event{Kind: answer.KindStart, Start: &answer.Start{TurnID: t.ID, ConversationID: conversation, Assistant: "dental", Created: time.Now()}})
		if err := f.script(ctx, t, say); err != nil && !gone {
			yield(answer.Event{}, err)
		}
	}
}

func (f *fakeAgent) turn(i int) agent.Turn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[i]
}

func play(events ...answer.Event) script {
	return func(_ context.Context, _ agent.Turn, say func(answer.Event) bool) error {
		for _, ev := range events {
			if !say(ev) {
				break
			}
		}
		return nil
	}
}

func text(s string) answer.Event { return answer.Event{Kind: answer.KindText, Text: s} }

func done() answer.Event { return ended(answer.Done{Finish: "stop"}) }

func ended(d answer.Done) answer.Event {
	d.Provider, d.Model, d.Language = "ollama", "qwen", "en"
	d.Saved, d.Usage = true, schemas.Usage{PromptTokens: 3, CompletionTokens: 2, TotalTokens: 5, CachedTokens: 1}
	return answer.Event{Kind: answer.KindDone, Done: &d}
}

// A store implements all stores of the host with fixed data. A branch has one exchange.
type store struct{}

func (store) List(context.Context, string, string, int, string) ([]schemas.Conversation, string, error) {
	return nil, "", nil
}

func (store) Messages(_ context.Context, _, id string) ([]schemas.StoredMessage, string, bool, error) {
	if id != "known" {
		return nil, "", false, nil
	}
	return []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: "where?", TurnID: "t1"},
		{Seq: 2, Role: schemas.RoleAssistant, Content: "There.\n\n1. [A](https://a.vn)", TurnID: "t1", Sources: []schemas.Source{{Title: "A", URL: "https://a.vn"}}},
	}, "", true, nil
}

func (store) Branch(_ context.Context, _, _, tip string) ([]schemas.StoredMessage, error) {
	return []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: "the stored question", TurnID: tip}, {Seq: 2, Role: schemas.RoleAssistant, Content: "the stored answer", TurnID: tip},
	}, nil
}

func (store) Tree(context.Context, string, string) ([]schemas.StoredMessage, error) { return nil, nil }
func (store) Rename(context.Context, string, string, string) error                  { return nil }
func (store) Clear(context.Context, string, string) error                           { return nil }
func (store) Delete(context.Context, string, string) error                          { return nil }
func (store) Trace(context.Context, string, string) (json.RawMessage, bool, error) {
	return nil, false, nil
}

func (store) Tools() []schemas.Tool {
	tool := func(name string) schemas.Tool {
		return schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "family__" + name, Server: "family", ToolName: name, InputSchema: json.RawMessage(`{"type":"object"}`)}}
	}
	return []schemas.Tool{tool("find"), tool("erase")}
}

func (store) Status() []schemas.ServerStatus {
	return []schemas.ServerStatus{{Name: "family", State: schemas.StateReady}}
}

// A host is the HTTP side with a fake agent.
type host struct {
	*fakeAgent
	t   *testing.T
	url string
}

func serve(t *testing.T, s script) *host { return serveWith(t, s, nil) }

func serveWith(t *testing.T, s script, change func(*web.Config)) *host {
	t.Helper()
	h := &host{fakeAgent: &fakeAgent{script: s}, t: t}
	set := turns.NewSet(nil, nil)
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		now, cancel := context.WithCancel(context.Background())
		cancel()
		set.Drain(now)
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	guard, err := httpguard.New(httpguard.Config{Hosts: []string{server.Listener.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := web.Config{
		Agent: h.fakeAgent, Conversations: store{}, Tools: store{}, Servers: store{}, Traces: store{}, Guard: guard, Turns: set,
		Models: func() []schemas.AssistantInfo { return []schemas.AssistantInfo{{Name: "dental"}} },
	}
	if change != nil {
		change(&cfg)
	}
	if handler, err = web.New(cfg); err != nil {
		t.Fatal(err)
	}
	h.url = server.URL
	return h
}

// do sends a request and returns the status and the body of its answer.
func (h *host) do(method, path, body string) (int, []byte) {
	h.t.Helper()
	return h.doWith(method, path, body, "", "")
}

// doWith is like do, with another header unless its name is empty.
func (h *host) doWith(method, path, body, header, value string) (int, []byte) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if header != "" {
		req.Header.Set(header, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res.StatusCode, data
}

type object = map[string]any

// create posts a request and returns the response, which it checks against the schema.
func (h *host) create(body string) object {
	h.t.Helper()
	status, data := h.do(http.MethodPost, "/v1/responses", body)
	if status != http.StatusOK {
		h.t.Fatalf("%s: status %d: %s", body, status, data)
	}
	return checkResponse(h.t, data)
}

// get reads a response, which it checks against the schema.
func (h *host) get(id string) object {
	h.t.Helper()
	status, data := h.do(http.MethodGet, "/v1/responses/"+id, "")
	if status != http.StatusOK {
		h.t.Fatalf("%s: status %d: %s", id, status, data)
	}
	return checkResponse(h.t, data)
}

// refused posts a request that must fail, and returns status, code and param of the error.
func (h *host) refused(body string) (int, string, string) {
	h.t.Helper()
	status, data := h.do(http.MethodPost, "/v1/responses", body)
	var e struct {
		Error struct{ Type, Code, Param, Message string }
	}
	if err := json.Unmarshal(data, &e); err != nil || e.Error.Message == "" || e.Error.Type == "" {
		h.t.Fatalf("%s: status %d, not an error object: %s", body, status, data)
	}
	return status, e.Error.Code, e.Error.Param
}

// stream posts a request and returns its events. It checks each against the schema, and their
// order.
func (h *host) stream(body string) []object {
	h.t.Helper()
	return h.events(http.MethodPost, "/v1/responses", body)
}

func (h *host) events(method, path, body string) []object {
	h.t.Helper()
	status, data := h.do(method, path, body)
	if status != http.StatusOK {
		h.t.Fatalf("%s %s: status %d: %s", path, body, status, data)
	}
	return readEvents(h.t, strings.NewReader(string(data)))
}

func readEvents(t *testing.T, r io.Reader) []object {
	t.Helper()
	var events []object
	name, last, ended := "", -1.0, false
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "event: "); ok {
			name = rest
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			ended = true
			continue
		}
		ev := checkEvent(t, []byte(data))
		if ev["type"] != name {
			t.Errorf("the event %q stands under the name %q", ev["type"], name)
		}
		if n := ev["sequence_number"].(float64); n <= last {
			t.Errorf("event %v has number %v after %v", ev["type"], n, last)
		} else {
			last = n
		}
		events = append(events, ev)
	}
	if !ended {
		t.Errorf("the stream has no last line: %v", types(events))
	}
	return events
}

func types(events []object) []string {
	list := make([]string, len(events))
	for i, ev := range events {
		list[i] = ev["type"].(string)
	}
	return list
}

// at returns the value at a path of names and numbers.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			o, _ := v.(object)
			v = o[p]
		case int:
			l, _ := v.([]any)
			if p < 0 {
				p += len(l)
			}
			if p < 0 || p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}
