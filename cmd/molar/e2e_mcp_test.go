package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/cli"
	"molar/schemas"
)

// An aloneServer is "molar mcp" in this process, with a real listener.
type aloneServer struct {
	url  string
	stop func() int
}

// serveAlone starts "molar mcp" and returns once it listens.
func serveAlone(t *testing.T, config, listen string) *aloneServer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stdout, stderr, ended := newLines(), newLines(), make(chan struct{})
	code := 0
	env := homeEnv(t, nil)
	go func() {
		defer close(ended)
		code = execute(ctx, []string{"mcp", "--config", config, "--listen", listen}, lookup(env), strings.NewReader(""), stdout, stderr)
	}()
	s := &aloneServer{stop: func() int {
		cancel()
		<-ended
		return code
	}}
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("standard error of mcp:\n%s", stderr)
		}
	})
	_, rest, _ := strings.Cut(stdout.wait(t, "\n", ended), "molar mcp listens on ")
	s.url, _, _ = strings.Cut(rest, ": ")
	return s
}

func (s *aloneServer) rpc(t *testing.T, method, params string, result any) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	status, answer := (&served{url: s.url, client: http.DefaultClient}).do(t, http.MethodPost, "/jsonrpc", body)
	var got struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusOK || got.Result == nil {
		t.Fatalf("%s: %d %s", method, status, answer)
	}
	if err := json.Unmarshal(got.Result, result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// A host with remote memory and tools works like one with its own, continues while they are
// unreachable, and uses them again when they return.
func TestMemoryElsewhere_UsedLostAndUsedAgain(t *testing.T) {
	long(t, "a turn waits for its memory for two seconds")
	t.Parallel()
	folder := t.TempDir()
	alone := writeFile(t, "mcp.yaml", "memory: {store: "+filepath.Join(folder, "memory.db")+"}\n")
	m := serveAlone(t, alone, "127.0.0.1:0")
	s := serveHost(t, writeFile(t, "molar.yaml", `
llm: {provider: offline}
memory: {url: "`+m.url+`/"}
state: `+filepath.Join(folder, "state.db")+`
`), nil)

	first := s.ask(t, "dental", "chat_far", "What causes tooth decay?")
	if !first.molar.Saved || len(first.molar.Warnings) != 0 || !strings.Contains(strings.ToLower(first.text), "decay") {
		t.Fatalf("with its memory: %+v", first)
	}
	var far struct{ Messages []schemas.StoredMessage }
	m.rpc(t, "memory-server/memory/get_all_messages", `{"conversation_id":"chat_far"}`, &far)
	if len(far.Messages) != 2 || far.Messages[1].Content != first.text {
		t.Errorf("the memory server holds %+v", far.Messages)
	}
	var trace json.RawMessage
	s.get(t, "/v1/turns/"+first.molar.TurnID, &trace)

	if code := m.stop(); code != cli.OK {
		t.Fatalf("molar mcp ended with %d", code)
	}
	away := s.ask(t, "general", "chat_far", "hello")
	if away.finish != "stop" || away.molar.Saved || len(away.molar.Warnings) == 0 ||
		!strings.Contains(away.molar.Warnings[0], "without memory and is not saved") {
		t.Errorf("without its memory: %+v", away)
	}

	serveAlone(t, alone, strings.TrimPrefix(m.url, "http://"))
	eventually(t, "the memory is used again", func() bool {
		return s.ask(t, "dental", "chat_far", "How do I prevent it?").molar.Saved
	})
	var c conversation
	s.get(t, "/v1/conversations/chat_far", &c)
	if len(c.Messages) < 4 || c.Messages[0].Content != "What causes tooth decay?" {
		t.Errorf("history: %+v", c.Messages)
	}
	if status, body := s.do(t, http.MethodPatch, "/v1/conversations/chat_far", `{"title":"Decay"}`); status != http.StatusOK {
		t.Errorf("rename: %d %s", status, body)
	}
	if status, body := s.do(t, http.MethodDelete, "/v1/conversations/chat_far", ""); status >= http.StatusBadRequest {
		t.Errorf("delete: %d %s", status, body)
	}
	if status, _ := s.do(t, http.MethodGet, "/v1/conversations/chat_far", ""); status != http.StatusNotFound {
		t.Errorf("after delete: %d", status)
	}
	if _, err := os.Stat(filepath.Join(folder, "state.db")); err != nil {
		t.Errorf("the host's own state: %v", err)
	}
}
