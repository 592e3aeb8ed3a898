package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the other process that locks the database

	"molar/internal/cli"
	"molar/internal/floor/stubmcp"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
	"molar/schemas"
)

// A server that fails at its start costs its own tools only, and is shown with its
// reason and its last words.
func TestFault_ServerFailsAtStart(t *testing.T) {
	long(t, "a server fails again and again")
	t.Parallel()
	family, bad := buildFamily(t), testkit.Build(t, "molar/internal/testkit/badmcp")
	s := serveHost(t, writeFile(t, "molar.yaml", `
llm: {provider: ollama}
mcpServers:
  family: {command: `+family+`}
  broken: {command: `+bad+`, args: [-exit]}
  absent: {command: no-such-program}
assistants:
  family: {description: x, tools: ["*"], flow: two-pass}
memory: {store: ./molar.db}
`), familyModel(t))
	s.stdout.wait(t, "server: tool-server", nil)
	var list struct{ Data []schemas.ServerStatus }
	s.get(t, "/v1/servers", &list)
	found := map[string]schemas.ServerStatus{}
	for _, status := range list.Data {
		found[status.Name] = status
	}
	broken := found["broken"]
	if broken.State != schemas.StateFailed || !strings.Contains(broken.Reason, "cannot open the database") ||
		len(broken.Stderr) != 2 || broken.Tools != 0 {
		t.Errorf("broken: %+v", broken)
	}
	if absent := found["absent"]; absent.State != schemas.StateFailed || !strings.Contains(absent.Reason, "no-such-program") {
		t.Errorf("absent: %+v", absent)
	}
	if status, body := s.do(t, http.MethodGet, "/ready", ""); status != http.StatusOK {
		t.Errorf("a failed server makes the host not ready: %d %s", status, body)
	}
	if a := s.ask(t, "family", "", familyQuestion); len(a.molar.Results) != 1 || a.molar.Results[0].Result.IsError {
		t.Errorf("answer %+v", a)
	}
}

// A tool that does not answer in its time becomes a result that the model reads.
func TestFault_ToolNeverAnswers(t *testing.T) {
	t.Parallel()
	_, url := stubServer(t, stubmcp.Config{Delay: time.Minute})
	model := startModel(t, models.Config{Tool: stubmcp.ToolName, Args: []byte(`{"family_id":"1a955fff"}`)})
	s := serveHost(t, stubConfig(t, url, `, tools: {"*": {timeout: 300ms}}`), model)
	s.stdout.wait(t, "server: stub ready", nil)
	a := s.ask(t, "two-pass", "", "Who is in the family?")
	if len(a.molar.Results) != 1 || !a.molar.Results[0].Result.IsError || a.finish != "stop" || !a.molar.Saved {
		t.Errorf("answer %+v", a)
	}
	if calls := asked(model); len(calls) != 2 || !strings.Contains(calls[1].Body, `"content":"Error: `) {
		t.Errorf("the model did not read the failure: %d calls", len(calls))
	}
}

// A model that dies in mid-answer: what arrived stands, an error follows and no
// finish, and the store has it as interrupted.
func TestFault_ModelCutInMidStream(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Script: func(r models.Request) *models.Reply {
		if strings.Contains(r.LastUser, "break") {
			return &models.Reply{Tokens: []string{"one ", "two ", "three ", "four"}, CutAfter: 3, Abort: true}
		}
		return nil
	}})
	s := serveHost(t, familyConfig(t, "no-such-program"), model)
	a := s.stream(t, "plain", "chat_cut", "break now")
	if a.text != "one two three " || a.fault == nil || a.finish != "" || a.closed {
		t.Errorf("stream %+v, fault %+v", a, a.fault)
	}
	var c conversation
	s.get(t, "/v1/conversations/chat_cut", &c)
	if len(c.Messages) != 2 || c.Messages[1].Content != a.text || c.Messages[1].Status != schemas.StatusInterrupted {
		t.Errorf("stored %+v", c.Messages)
	}
	if next := s.ask(t, "plain", "chat_cut", "go on"); next.finish != "stop" || !next.molar.Saved {
		t.Errorf("the next turn: %+v", next)
	}
	eventually(t, "summary of the next turn", func() bool {
		s.get(t, "/v1/conversations/chat_cut", &c)
		return c.Summary != ""
	})
	for _, r := range model.Requests() {
		if isSummary(r) && strings.Contains(r.Body, "one two three") {
			t.Error("the interrupted answer was summarised")
		}
	}
}

// Another process that holds the database while the answer is given: the answer
// stands, and a typed error says that it is not saved.
func TestFault_DatabaseLocked(t *testing.T) {
	long(t, "a turn tries to save for two seconds")
	var once sync.Once
	var store string
	var other *sql.Conn
	model := startModel(t, models.Config{Script: func(r models.Request) *models.Reply {
		once.Do(func() { other = lockDatabase(t, store) }) // the conversation has been read by now
		return models.Text("An answer that is lost.")
	}})
	config := familyConfig(t, "no-such-program")
	store = filepath.Join(filepath.Dir(config), "memory", "molar.db")
	s := serveHost(t, config, model)
	a := s.stream(t, "plain", "chat_locked", "Hello there")
	if a.text != "An answer that is lost." || a.finish != "" || a.closed {
		t.Errorf("stream %+v", a)
	}
	if a.fault == nil || a.fault.Code != "answer_not_saved" {
		t.Fatalf("fault %+v", a.fault)
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if next := s.ask(t, "plain", "chat_locked", "Once more"); !next.molar.Saved {
		t.Errorf("after the lock: %+v", next)
	}
}

// A conversation that cannot be read costs memory, not the answer.
func TestFault_MemoryCannotBeRead(t *testing.T) {
	long(t, "a turn waits for its memory for two seconds")
	t.Parallel()
	config := familyConfig(t, "no-such-program")
	s := serveHost(t, config, startModel(t, models.Config{Tokens: 3}))
	s.stdout.wait(t, "server: memory-server ready", nil)
	db, err := sql.Open("sqlite", filepath.Join(filepath.Dir(config), "memory", "molar.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "ALTER TABLE conversations RENAME TO elsewhere"); err != nil {
		t.Fatal(err)
	}
	a := s.stream(t, "plain", "chat_lost", "Hello there")
	if a.text != "tok1 tok2 tok3" || a.finish != "stop" || a.molar.Saved || len(a.molar.Warnings) != 1 ||
		!strings.Contains(a.molar.Warnings[0], "without memory and is not saved") {
		t.Errorf("stream %+v", a)
	}
}

// lockDatabase takes the write lock, as soon as the host lets go of it, and keeps it.
func lockDatabase(t *testing.T, path string) *sql.Conn {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Error(err)
		return nil
	}
	// SQLite does not wait in every state of its log, whatever its busy timeout is.
	eventually(t, "lock on the database", func() bool {
		_, err := conn.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
		return err == nil
	})
	return conn
}

// What serve cannot start with is one sentence that names it, and no trace of calls.
func TestFault_Start(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	noise := bytes.Repeat([]byte("this is no database. "), 1000)
	tests := []struct {
		name    string
		prepare func(t *testing.T, dir string)
		args    []string
		code    int
		stderr  []string // in the one sentence
	}{
		{
			"a corrupt database", func(t *testing.T, dir string) { put(t, filepath.Join(dir, "molar.db"), noise) },
			nil, cli.Failure,
			[]string{"molar.db", "move it away"},
		},
		{"an unwritable folder", func(t *testing.T, dir string) {
			if os.Geteuid() == 0 { // who may write anywhere; what follows is the same fault by another way
				put(t, filepath.Join(dir, "sub"), noise)
			} else if err := os.Mkdir(filepath.Join(dir, "sub"), 0o500); err != nil {
				t.Fatal(err)
			}
		}, []string{"--config", "sub.yaml"}, cli.Failure, []string{"sub"}},
		{
			"a port in use", func(*testing.T, string) {},
			[]string{"--listen", busy.Addr().String()},
			cli.Failure,
			[]string{busy.Addr().String(), "--listen"},
		},
		{
			"an address that others can reach", func(*testing.T, string) {},
			[]string{"--listen", "0.0.0.0:8000"},
			cli.Misuse,
			[]string{"0.0.0.0:8000", "loopback"},
		},
		{
			"a config that is not there", func(*testing.T, string) {},
			[]string{"--config", "gone.yaml"},
			cli.Misuse,
			[]string{"gone.yaml"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, "molar.yaml"), []byte("memory: {store: ./molar.db}\n"))
			put(t, filepath.Join(dir, "sub.yaml"), []byte("memory: {store: ./sub/molar.db}\n"))
			tt.prepare(t, dir)
			t.Chdir(dir)
			args := append([]string{"serve", "--config", "molar.yaml", "--listen", "127.0.0.1:0"}, tt.args...)
			var stdout, stderr bytes.Buffer
			code := execute(t.Context(), args, lookup(homeEnv(t, nil)), strings.NewReader(""), &stdout, &stderr)
			sentence := oneSentence(stderr.String())
			if code != tt.code || stdout.Len() > 0 || sentence == "" {
				t.Fatalf("code %d, stdout %q, stderr:\n%s", code, stdout.String(), stderr.String())
			}
			for _, want := range tt.stderr {
				if !strings.Contains(sentence, want) {
					t.Errorf("%q is missing in %q", want, sentence)
				}
			}
		})
	}
}

// oneSentence returns the only line that molar printed beside its log; empty when
// there is more or none.
func oneSentence(stderr string) string {
	found := ""
	for line := range strings.Lines(stderr) {
		switch {
		case strings.HasPrefix(line, "time="):
		case strings.HasPrefix(line, "molar: ") && found == "":
			found = line
		default:
			return ""
		}
	}
	return found
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Bad requests get OpenAI's error object with the status that fits, and the host
// goes on.
func TestFault_BadRequests(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{})
	s := serveHost(t, familyConfig(t, "no-such-program"), model)
	hello := `{"messages":[{"role":"user","content":"hello"}]`
	tests := []struct {
		name, body string
		status     int
	}{
		{"10 MB", hello + `,"user":"` + strings.Repeat("x", 10<<20) + `"}`, 413},
		{"invalid UTF-8", "{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}", 400},
		{"unknown assistant", hello + `,"model":"nobody"}`, 404},
		{"unknown model", hello + `,"model":"plain","ollama_model":"no-such:1b"}`, 404},
		{"unknown provider", hello + `,"model":"plain","molar":{"provider":"nobody"}}`, 400},
		{"no messages", `{"messages":[]}`, 400},
		{"no user message", `{"messages":[{"role":"system","content":"x"}]}`, 400},
		{"an empty question", `{"messages":[{"role":"user","content":""}]}`, 400},
		{"wrong types", `{"messages":"hello"}`, 400},
		{"no JSON", `hello`, 400},
		{"nothing", ``, 400},
		{"nesting", strings.Repeat("[", 100_000), 400},
		{"a bad conversation id", hello + `,"chat_id":"../../etc"}`, 400},
	}
	for _, tt := range tests {
		for _, stream := range []bool{false, true} {
			body := tt.body
			if head, ok := strings.CutSuffix(body, "}"); ok && stream {
				body = head + `,"stream":true}`
			}
			status, text := s.do(t, http.MethodPost, "/v1/chat/completions", body)
			var fault struct{ Error *apiFault }
			if err := json.Unmarshal([]byte(text), &fault); err != nil || fault.Error == nil || fault.Error.Message == "" {
				t.Errorf("%s: no error object: %q", tt.name, text)
				continue
			}
			if status != tt.status {
				t.Errorf("%s, stream %v: %d, want %d: %+v", tt.name, stream, status, tt.status, *fault.Error)
			}
		}
	}
	if n := len(asked(model)); n != 0 {
		t.Errorf("%d model calls", n)
	}
	if a := s.ask(t, "plain", "", "still there?"); a.finish != "stop" {
		t.Errorf("after all: %+v", a)
	}
}
