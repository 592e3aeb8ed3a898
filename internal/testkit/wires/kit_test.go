// Package wires_test runs turns of the whole agent over the real adapters, against model servers
// on loopback that speak the real wire formats, and the memory server over SQLite.
package _test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"molar/agent"
	"molar/agent/memory"
	"molar/agent/offer"
	"molar/internal/store"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	memoryserver "molar/mcpservers/memory"
	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
	"molar/toolhandler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reply is the model's answer to one request: text in pieces, then a call.
type reply struct {
	pieces     []string
	tool, args string
	// pause is the wait before each piece.
	pause time.Duration
	// read, when set, must deliver a value before each piece but the first: the client has read
	// the previous one.
	read chan struct{}
	// endless answers continue silently until the client disconnects.
	endless bool
}

func says(pieces ...string) reply { return reply{pieces: pieces} }

func calls(tool, args string) reply { return reply{tool: tool, args: args} }

// model is a model server. It answers with its replies in turn, and then with those of answer.
type model struct {
	wire wire
	url  string

	mu      sync.Mutex
	answer  func(b string) reply // used after the last reply
	replies []reply
	bodies  []string
	called  int
	refused int
	wrote   []time.Time
	// refuses returns why the model refuses a body, or "".
	refuses func(b string) string
}

func startModel(t *testing.T, w wire) *model {
	t.Helper()
	m := &model{wire: w, answer: func(string) reply { return reply{} }}
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	m.url = srv.URL
	return m
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == "/v1/models" { // it has no list of models
		http.NotFound(w, r)
		return
	}
	data, _ := io.ReadAll(r.Body)
	if strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != "/api/chat" {
		_, _ = fmt.Fprintf(w, `{"template":"{{ .Tools }}","model_info":{"general.architecture":"qwen2","qwen2.context_length":%d},"capabilities":["completion","tools","vision"]}`, cmp.Or(m.wire.window, 32768))
		return
	}
	if m.wire.window > 0 && len(data)/4 > m.wire.window {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, m.wire.tooLong)
		return
	}
	if why := m.refusal(string(data)); why != "" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, why)
		return
	}
	next, n := m.next(string(data))
	w.Header().Set("Content-Type", m.wire.form)
	write := func(event string) bool {
		_, err := fmt.Fprintf(w, m.wire.event, event)
		return errors.Join(err, http.NewResponseController(w).Flush()) == nil
	}
	for i, piece := range next.pieces {
		if next.read != nil && i > 0 {
			select {
			case <-next.read:
			case <-r.Context().Done():
				return
			}
		}
		if next.pause > 0 {
			select {
			case <-time.After(next.pause):
			case <-r.Context().Done():
				return
			}
			m.note()
		}
		if !write(m.wire.text(piece)) {
			return
		}
	}
	if next.endless {
		<-r.Context().Done()
		return
	}
	if next.tool != "" {
		write(m.wire.call(n, next.tool, cmp.Or(next.args, "{}")))
	}
	write(m.wire.end(next.tool != ""))
}

// refusal returns why the model refuses a body, and counts it.
func (m *model) refusal(b string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuses == nil {
		return ""
	}
	why := m.refuses(b)
	if why != "" {
		m.refused++
	}
	return why
}

// next records a body and returns the reply.
func (m *model) next(b string) (reply, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bodies = append(m.bodies, b)
	next := m.answer(b)
	if len(m.replies) > 0 {
		next, m.replies = m.replies[0], m.replies[1:]
	}
	if next.tool != "" {
		m.called++
	}
	return next, m.called
}

func (m *model) note() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrote = append(m.wrote, time.Now())
}

// setReplies sets the next replies.
func (m *model) setReplies(replies ...reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replies, m.wrote = replies, nil
}

// written returns the time of each piece.
func (m *model) written() []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]time.Time(nil), m.wrote...)
}

// setAnswer sets the function for all later replies.
func (m *model) setAnswer(answer func(b string) reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer, m.replies = answer, nil
}

// sent returns the bodies so far.
func (m *model) sent() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.bodies...)
}

func read(t *testing.T, b string) body {
	t.Helper()
	var read body
	if err := json.Unmarshal([]byte(b), &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// messages returns the messages of a body, one per line, with keys in order and Molar's ids
// numbered.
func (m *model) messages(t *testing.T, b string) []string {
	t.Helper()
	_, _, raw := m.wire.split(read(t, b))
	var lines []string
	for _, message := range raw {
		var v any
		if err := json.Unmarshal(message, &v); err != nil {
			t.Fatal(err)
		}
		var line strings.Builder
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.TrimSpace(line.String()))
	}
	return numbered(lines)
}

// numbered replaces the n-th UUID by "<id n>".
func numbered(lines []string) []string {
	seen := map[string]string{}
	uuid := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	for i, line := range lines {
		lines[i] = uuid.ReplaceAllStringFunc(line, func(id string) string {
			if seen[id] == "" {
				seen[id] = fmt.Sprintf("<id %d>", len(seen)+1)
			}
			return seen[id]
		})
	}
	return lines
}

// attached are tools with their caller.
type attached interface {
	offer.Tools
	toolhandler.Caller
}

// desk is a set of tools that only read and all return the same result.
type desk struct {
	tools  []schemas.Tool
	result string
	// results, when set, returns the result of the next call.
	results func() string
}

func newDesk(n int, result string) desk {
	d := desk{result: result}
	for i := range n {
		name := fmt.Sprintf("find_%d", i)
		d.tools = append(d.tools, schemas.Tool{ToolInfo: schemas.ToolInfo{
			Name: "desk__" + name, Server: "desk", ToolName: name, Description: strings.Repeat("Reads what the register holds. ", 6),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"page":{"type":"integer"},"name":{"type":"string"}}}`), Annotations: schemas.ToolAnnotations{ReadOnlyHint: new(true)},
		}, Rules: schemas.ToolRules{Marks: schemas.ServerMarks{Closed: true}}})
	}
	return d
}

func (d desk) Tools() []schemas.Tool          { return d.tools }
func (d desk) Status() []schemas.ServerStatus { return nil }
func (d desk) Resource(context.Context, schemas.Caller, string, string) (string, []schemas.Part, error) {
	return "", nil, errors.New("none")
}
func (d desk) Instructions() map[string]string              { return nil }
func (d desk) Wait(context.Context, []string) error         { return nil }
func (d desk) WaitStarting(context.Context, []string) error { return nil }
func (d desk) CallFor(context.Context, *schemas.Person, string, string, json.RawMessage) (schemas.ToolResult, error) {
	result := d.result
	if d.results != nil {
		result = d.results()
	}
	return schemas.ToolResult{Output: json.RawMessage(result)}, nil
}

// route always picks the same model.
type route struct{ providers.Route }

func (r route) Pick(context.Context, string, string, string) (providers.Route, error) {
	return r.Route, nil
}

// doorway is the memory of a host, which announces each turn that arrives.
type doorway struct {
	*memory.Client
	came chan string
}

// Begin announces that the turn is about to queue.
func (d doorway) Begin(ctx context.Context, r memory.BeginRequest) (schemas.Opening, error) {
	select {
	case d.came <- r.Key:
	default: // nobody listens, and the channel is full
	}
	return d.Client.Begin(ctx, r)
}

// host is an agent, its store and its memory server, as in one process.
type host struct {
	agent  *agent.Agent
	worker *memory.Worker
	memory *memory.Client
	// came announces the turns that arrive at the memory.
	came  chan string
	close func()
}

// openHost opens the store at path and an agent over it that uses the model.
func openHost(t *testing.T, m *model, path string, tools attached, limits agent.Limits) *host {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Path: path})
	must(t, err)
	server, err := memoryserver.New(memoryserver.Config{Store: db, FileBytes: 64 << 20})
	must(t, err)
	manager, err := mcpclients.New(mcpclients.Config{Servers: []transport.ServerConfig{{Name: memory.ServerName, InProcess: server}}})
	must(t, err)
	manager.Start(context.WithoutCancel(t.Context()))
	h := &host{came: make(chan string, 16), close: sync.OnceFunc(func() {
		if err := errors.Join(manager.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})}
	t.Cleanup(h.close)
	must(t, manager.Wait(t.Context(), nil))
	h.memory, err = memory.New(manager)
	must(t, err)
	provider, err := m.wire.open(m.url, m.wire.window)
	must(t, err)
	handler, err := toolhandler.New(toolhandler.Config{Caller: tools})
	must(t, err)
	models := route{providers.Route{Provider: chain.Again(provider, 0), Model: "gemini-3-flash", SmallModel: "gemini-3-flash"}}
	h.agent, err = agent.New(agent.Config{
		Rank:       offer.Of,
		Assistants: []schemas.Assistant{{Name: "desk", Tools: []string{"*"}, Summarize: cmp.Or(m.wire.summarize, schemas.SummarizeAnswer)}}, Default: "desk",
		Models: models,
		Tools:  tools, Handler: handler, Memory: doorway{h.memory, h.came}, Results: db, Limits: limits,
	})
	must(t, err)
	writer := memory.Writer{Pick: func(ctx context.Context, _ string) (providers.Route, error) { return models.Pick(ctx, "", "", "") }}
	h.worker, err = memory.NewWorker(memory.WorkerConfig{Client: h.memory, Summarise: writer.Summarise})
	must(t, err)
	return h
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// talk is a conversation with a host that can be restarted.
type talk struct {
	*host
	model  *model
	path   string
	tools  attached
	limits agent.Limits
}

func newTalk(t *testing.T, w wire, tools attached, limits agent.Limits) *talk {
	t.Helper()
	c := &talk{model: startModel(t, w), path: filepath.Join(t.TempDir(), "molar.db"), tools: tools, limits: limits}
	c.host = openHost(t, c.model, c.path, tools, limits)
	return c
}

// restart opens the agent and the store again on the same file.
func (c *talk) restart(t *testing.T) {
	t.Helper()
	c.close()
	c.host = openHost(t, c.model, c.path, c.tools, c.limits)
}

// summarise writes the missing summaries.
func (c *talk) summarise(t *testing.T, text string) {
	t.Helper()
	c.model.setAnswer(func(string) reply { return says(text) })
	must(t, c.worker.Drain(t.Context()))
}

// ask runs a turn, all of whose calls must be made, and returns the bodies of its model calls.
func (c *talk) ask(t *testing.T, question string, replies ...reply) []string {
	t.Helper()
	c.model.setReplies(replies...)
	before := len(c.model.sent())
	saved := false
	for event, err := range c.agent.Run(t.Context(), turn(question)) {
		must(t, err)
		if event.Done != nil {
			saved = event.Done.Saved
			if refused := event.Done.Unapproved; len(refused) > 0 {
				t.Errorf("%q: the calls of %q were not made", question, refused)
			}
		}
	}
	if !saved {
		t.Fatalf("%q was not saved", question)
	}
	return c.model.sent()[before:]
}

func turn(question string) agent.Turn {
	return agent.Turn{Place: agent.Place{ConversationID: "c"}, Messages: []schemas.Message{schemas.Text(schemas.RoleUser, question)}}
}
