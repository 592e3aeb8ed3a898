package main

import (
	"database/sql"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the other process that locks the database

	"molar/internal/testkit/models"
)

// plainBody is a request of a client that knows nothing of molar's own fields.
func plainBody(stream string) string {
	return `{"model":"plain","chat_id":"chat_x","stream":` + stream + `,"messages":[{"role":"user","content":"Hello there"}]}`
}

// A store that accepts no writes costs two seconds and memory, and is reported everywhere: to the
// plain client, the person, the probe and the metrics.
func TestUnsaved_DatabaseLocked(t *testing.T) {
	long(t, "a turn tries to save for two seconds")
	t.Parallel()
	config := familyConfig(t, "no-such-program")
	s := serveHost(t, config, startModel(t, models.Config{Tokens: 3}))
	s.stdout.wait(t, "server: memory-server ready", nil)
	eventually(t, "ready", func() bool { status, _ := s.do(t, http.MethodGet, "/ready", ""); return status == http.StatusOK })
	other := lockDatabase(t, filepath.Join(filepath.Dir(config), "memory", "molar.db"))

	for _, stream := range []string{"true", "false"} {
		began := time.Now()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/chat/completions", strings.NewReader(plainBody(stream)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
		body := string(data)
		if res.StatusCode != http.StatusOK || !strings.Contains(body, "tok3") || !strings.Contains(body, `"saved":false`) {
			t.Errorf("stream %s: %d %s", stream, res.StatusCode, body)
		}
		// A stream sends its headers after a second, before it is known whether the turn was saved.
		if got := res.Header.Get("X-Molar-Saved"); stream == "false" && got != "false" {
			t.Errorf("header %q", got)
		}
		if took := time.Since(began); took < 1900*time.Millisecond || took > 4*time.Second {
			t.Errorf("stream %s: answered after %v", stream, took)
		}
	}
	eventually(t, "not ready", func() bool {
		status, body := s.do(t, http.MethodGet, "/ready", "")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "takes no writes")
	})
	if _, metrics := s.do(t, http.MethodGet, "/metrics", ""); !strings.Contains(metrics, `molar_turns_unsaved_total{assistant="plain"} 2`) {
		t.Errorf("the metrics do not count them: %s", metrics)
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "ready again", func() bool { status, _ := s.do(t, http.MethodGet, "/ready", ""); return status == http.StatusOK })
	if a := s.ask(t, "plain", "chat_x", "Once more"); !a.molar.Saved {
		t.Errorf("after the lock: %+v", a)
	}
}

// Where memory is required, nothing is answered without it but what saves nothing.
func TestUnsaved_MemoryRequired(t *testing.T) {
	long(t, "a turn waits for its memory for two seconds")
	t.Parallel()
	model := startModel(t, models.Config{Tokens: 3})
	m := serveAlone(t, writeFile(t, "mcp.yaml", "memory: {store: "+filepath.Join(t.TempDir(), "memory.db")+"}\n"), "127.0.0.1:0")
	s := serveHost(t, writeFile(t, "molar.yaml", `
llm: {provider: ollama}
assistants: {plain: {description: Talks.}}
memory: {url: "`+m.url+`", required: true}
state: `+filepath.Join(t.TempDir(), "state.db")+`
`), model)
	s.stdout.wait(t, "server: memory-server ready", nil)
	if a := s.ask(t, "plain", "chat_x", "Hello there"); !a.molar.Saved {
		t.Fatalf("with the memory: %+v", a)
	}
	m.stop()
	before := len(asked(model))
	status, body := s.do(t, http.MethodPost, "/v1/chat/completions", plainBody("false"))
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "store_unavailable") || len(asked(model)) != before {
		t.Errorf("without it: %d %s, %d model calls", status, body, len(asked(model))-before)
	}
	lone := `{"model":"plain","store":false,"messages":[{"role":"user","content":"Hello there"}]}`
	if status, body := s.do(t, http.MethodPost, "/v1/chat/completions", lone); status != http.StatusOK || !strings.Contains(body, "tok3") {
		t.Errorf("what is not to be stored: %d %s", status, body)
	}
	if status, body := s.do(t, http.MethodGet, "/ready", ""); status != http.StatusServiceUnavailable {
		t.Errorf("/ready without the memory server: %d %s", status, body)
	}
	if status, body := s.do(t, http.MethodGet, "/v1/conversations", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "store_unavailable") {
		t.Errorf("the list: %d %s", status, body)
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
