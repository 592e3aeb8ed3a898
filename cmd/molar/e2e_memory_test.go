package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molar/internal/store"
	"molar/schemas"
)

// foreignServer is an MCP server that knows nothing of conversations, at every path.
func foreignServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var msg struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&msg) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if msg.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		body := `"error":{"code":-32601,"message":"Method not found"}`
		switch msg.Method {
		case "initialize":
			body = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"weather","version":"1"}}`
		case "tools/list":
			body = `"result":{"tools":[]}`
		case "ping":
			body = `"result":{}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, msg.ID, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A server at memory.url that keeps no conversations costs the memory and nothing
// else, and one sentence says why, once.
func TestMemoryElsewhere_IsNoMemory(t *testing.T) {
	long(t, "a turn waits for its memory for two seconds")
	t.Parallel()
	for name, c := range map[string]struct{ url, says string }{
		"another MCP server": {foreignServer(t), "set memory.url to the address of a molar mcp"},
		"no MCP server": {func() string {
			s := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(s.Close)
			return s.URL
		}(), "memory-server failed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveHost(t, writeFile(t, "molar.yaml", `
llm: {provider: offline}
memory: {url: "`+c.url+`"}
state: `+filepath.Join(t.TempDir(), "state.db")+`
assistants: {helper: {tools: ["*"]}}
`), nil)
			got := s.ask(t, "helper", "chat_a", "hello")
			if got.finish != "stop" || got.molar.Saved || len(got.molar.Warnings) == 0 {
				t.Fatalf("answer %+v", got)
			}
			if !strings.Contains(got.molar.Warnings[0], c.says) || !strings.Contains(got.molar.Warnings[0], "not saved") {
				t.Errorf("warning %q", got.molar.Warnings[0])
			}
			for _, w := range got.molar.Warnings[1:] {
				if strings.Contains(w, schemas.MemoryServer) {
					t.Errorf("told again: %q", w)
				}
			}
			eventually(t, "the log says it too", func() bool { return strings.Contains(s.stderr.String(), c.says) })
		})
	}
}

// A history that is longer than one answer of a server is read completely, together with the
// host's own facts about the conversation.
func TestMemoryElsewhere_LongHistory(t *testing.T) {
	long(t, "a long conversation is written first")
	t.Parallel()
	folder := t.TempDir()
	m := serveAlone(t, writeFile(t, "mcp.yaml", "memory: {store: "+filepath.Join(folder, "memory.db")+"}\n"), "127.0.0.1:0")
	s := serveHost(t, writeFile(t, "molar.yaml", `
llm: {provider: offline}
memory: {url: "`+m.url+`"}
state: `+filepath.Join(folder, "state.db")+`
`), nil)
	text := strings.Repeat("răng ", 1<<20/6)
	for range 6 {
		var status struct{ Status string }
		m.rpc(t, "memory-server/memory/add_message", `{"conversation_id":"long","role":"user","content":"`+text+`"}`, &status)
	}
	var c conversation
	s.get(t, "/v1/conversations/long", &c)
	if len(c.Messages) != 6 || c.Messages[5].Content != text {
		t.Errorf("%d messages of six", len(c.Messages))
	}
	got := s.ask(t, "general", "long", "hello")
	if !got.molar.Saved {
		t.Fatalf("a turn on it: %+v", got.molar)
	}
	if status, body := s.do(t, http.MethodGet, "/v1/turns/"+got.molar.TurnID, ""); status != http.StatusOK {
		t.Errorf("trace: %d %s", status, body)
	}
	if status, body := s.do(t, http.MethodDelete, "/v1/conversations/long", ""); status != http.StatusOK {
		t.Errorf("delete: %d %s", status, body)
	}
	if status, _ := s.do(t, http.MethodGet, "/v1/turns/"+got.molar.TurnID, ""); status != http.StatusNotFound {
		t.Errorf("trace of a deleted conversation: %d", status)
	}
}

// oldStore is a database with a conversation of two years ago and one of now.
func oldStore(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "molar.db")
	for id, at := range map[string]time.Time{"old": time.Now().AddDate(-2, 0, 0), "new": time.Now()} {
		db, err := store.Open(t.Context(), store.Config{Path: path, Now: func() time.Time { return at }})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.AddMessage(t.Context(), "", id, store.Message{Role: schemas.RoleUser, Content: "what was told in " + id}); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// memory.retention deletes old conversations from the bytes of the files, in serve and
// in mcp, and keeps the others.
func TestRetention(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, config string){
		"serve": func(t *testing.T, config string) { serveHost(t, config, nil) },
		"mcp":   func(t *testing.T, config string) { serveAlone(t, config, "127.0.0.1:0") },
	} {
		t.Run(name, func(t *testing.T) {
			path := oldStore(t)
			start(t, writeFile(t, "molar.yaml", "llm: {provider: offline}\nmemory: {store: "+path+", retention: 365d}\n"))
			holds := func(text string) bool {
				for _, file := range []string{path, path + "-wal"} {
					data, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					if bytes.Contains(data, []byte(text)) {
						return true
					}
				}
				return false
			}
			eventually(t, "the old conversation is gone", func() bool { return !holds("what was told in old") })
			if !holds("what was told in new") {
				t.Error("the new conversation is gone too")
			}
		})
	}
}

// The retention of an assistant takes its conversations only, from when it is written into the file of a
// running host. Traces go after their own time, also where none is written any more.
func TestRetention_OfAnAssistant(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "molar.db")
	at := time.Now().AddDate(0, -2, 0)
	db, err := store.Open(t.Context(), store.Config{Path: path, Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	for _, assistant := range []string{"legal", "help"} {
		begun, err := db.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "of_" + assistant, TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.SaveTurn(t.Context(), store.Turn{Lease: begun.Lease, TurnID: "t_" + assistant, User: "q", Answer: "a", Assistant: assistant}); err != nil {
			t.Fatal(err)
		}
	}
	err = db.PutTraces(t.Context(), []store.Trace{{TurnID: "t_help", ConversationID: "of_help", Body: []byte(`{}`)}})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	text := "llm: {provider: offline}\ntelemetry: {trace: off}\nmemory: {store: " + path + "}\nassistants:\n  help: {}\n  legal: {}\n"
	file := writeFile(t, "molar.yaml", text)
	s := serveHost(t, file, nil)
	status := func(assistant string) int {
		code, _ := s.do(t, http.MethodGet, "/v1/conversations/of_"+assistant, "")
		return code
	}
	traces := func() int {
		reader, err := store.Open(t.Context(), store.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		list, err := reader.ListTraces(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	eventually(t, "the old trace is gone", func() bool { return traces() == 0 })
	if status("legal") != http.StatusOK || status("help") != http.StatusOK {
		t.Error("a conversation is gone, and nothing says so")
	}
	if err := os.WriteFile(file, []byte(strings.Replace(text, "legal: {}", "legal: {retention: 30d}", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the assistant's conversation is gone", func() bool { return status("legal") == http.StatusNotFound })
	if status("help") != http.StatusOK {
		t.Error("the other assistant's conversation is gone too")
	}
}
