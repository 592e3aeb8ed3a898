package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/store/database"
	"molar/internal/store/storetest"
	"molar/internal/testkit/models"
	"molar/schemas"
)

// A conversation that is deleted or cleared while a turn of it runs is gone for good:
// the turn is not saved, and its trace is not kept either. The memory may be in the
// host's own database or elsewhere.
func TestErasedWhileATurnRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path string
		elsewhere    bool
	}{
		"deleted":   {http.MethodDelete, "/v1/conversations/chat_gone", false},
		"cleared":   {http.MethodPost, "/v1/conversations/chat_gone/clear", false},
		"elsewhere": {http.MethodDelete, "/v1/conversations/chat_gone", true},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			database := filepath.Join(folder, "host.db")
			memory := "memory: {store: " + database + "}\n"
			if c.elsewhere {
				m := serveAlone(t, writeFile(t, "mcp.yaml", "memory: {store: "+filepath.Join(folder, "memory.db")+"}\n"), "127.0.0.1:0")
				memory = "memory: {url: \"" + m.url + "\"}\nstate: " + database + "\n"
			}
			var s *served
			var mu sync.Mutex
			model := startModel(t, models.Config{Script: func(r models.Request) *models.Reply {
				if strings.Contains(r.LastUser, "penicillin") && !isSummary(r) {
					mu.Lock()
					defer mu.Unlock()
					if status, body := s.do(t, c.method, c.path, ""); status != http.StatusOK {
						t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
					}
				}
				return models.Text("An answer.")
			}})
			mu.Lock()
			s = serveHost(t, writeFile(t, "molar.yaml", "llm: {provider: ollama}\nassistants: {plain: {}}\n"+memory), model)
			mu.Unlock()
			if first := s.ask(t, "plain", "chat_gone", "Hello there"); !first.molar.Saved {
				t.Fatalf("first turn: %+v", first.molar)
			}
			got := s.stream(t, "plain", "chat_gone", "I am allergic to penicillin")
			if got.fault == nil || got.fault.Code != "answer_not_saved" {
				t.Errorf("a turn on an erased conversation: %+v, fault %+v", got, got.fault)
			}
			if later := s.ask(t, "plain", "chat_gone", "Hello again"); !later.molar.Saved {
				t.Errorf("a later turn: %+v", later.molar)
			}
			s.stop()
			db, err := store.Open(t.Context(), store.Config{Path: database})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			traces, err := db.ListTraces(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, trace := range traces {
				whole, _, err := db.GetTrace(t.Context(), trace.TurnID)
				if err != nil || strings.Contains(string(whole.Body), "penicillin") {
					t.Errorf("kept: %s, %v", whole.Body, err)
				}
			}
			if len(traces) != 1 {
				t.Errorf("%d traces, want that of the later turn", len(traces))
			}
		})
	}
}

// A person is erased while their turns run: of what these write afterwards, nothing is left in the
// database, wherever the turns ran and whoever erased.
func TestErasedPersonWhileTheirTurnsRun(t *testing.T) {
	t.Parallel()
	const owner, rest = "person:annabel", "llm: {provider: ollama}\nassistants: {plain: {tools: ['*']}}\ntelemetry: {wire: 1d}\nidentity: {header: X-Forwarded-User}\n" +
		"trusted_proxies: [127.0.0.1]\nbudgets: {person: {per: day, tokens: 1000000}}\n"
	themselves := func(t *testing.T, s *served, _ string) (int, string) {
		return s.behindProxy(t, http.MethodPost, "/v1/account/erase", `{"confirm":"annabel"}`, "annabel")
	}
	for name, c := range map[string]struct {
		hosts     int
		elsewhere bool
		erase     func(t *testing.T, s *served, config string) (int, string)
	}{
		"by themselves": {1, false, themselves},
		"at the command line": {1, false, func(t *testing.T, _ *served, config string) (int, string) {
			code, out, errs := molarCmd(t, "people", "erase", owner, "--yes", "--config", config)
			return 200 + code, out + errs
		}},
		"at another replica": {2, false, themselves},
		"memory elsewhere":   {1, true, themselves},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path, memoryPath := filepath.Join(folder, "host.db"), ""
			memory := "memory: {store: '" + path + "'}\n"
			switch {
			case c.hosts > 1:
				path = storetest.StartPostgres(t).Database(t)
				memory = "memory: {store: '" + path + "'}\n"
			case c.elsewhere:
				memoryPath = filepath.Join(folder, "memory.db")
				m := serveAlone(t, writeFile(t, "mcp.yaml", "memory: {store: "+memoryPath+"}\n"), "127.0.0.1:0")
				memory = "memory: {url: \"" + m.url + "\"}\nstate: " + path + "\n"
			}
			model := startModel(t, models.Config{Tool: "none", Tokens: 80, LineEvery: 1, Interval: 40 * time.Millisecond})
			config := writeFile(t, "molar.yaml", rest+memory)
			hosts := make([]*served, c.hosts)
			for i := range hosts {
				hosts[i] = serveHost(t, config, model)
			}
			detached := strings.Replace(questionBody("plain", "chat_detached", "my penicillin", true), `"events":true`, `"events":true,"detach":true`, 1)
			var running sync.WaitGroup
			ask := func(path, body string, headers ...string) {
				running.Go(func() {
					req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, hosts[0].url+path, strings.NewReader(body))
					req.Header.Set("Content-Type", "application/json")
					req.Header.Set("X-Forwarded-User", "annabel")
					for i := 0; i < len(headers); i += 2 {
						req.Header.Set(headers[i], headers[i+1])
					}
					if res, err := hosts[0].client.Do(req); err == nil {
						_, _ = io.Copy(io.Discard, res.Body)
						_ = res.Body.Close()
					}
				})
			}
			if status, text := hosts[0].behindProxy(t, http.MethodPost, "/v1/conversations/chat_known/clear", "", "annabel"); status != http.StatusNotFound {
				t.Fatalf("%d %s", status, text)
			}
			ask("/v1/chat/completions", questionBody("plain", "chat_stream", "my penicillin", true))
			ask("/v1/chat/completions", questionBody("plain", "", "my penicillin", false))
			ask("/v1/chat/completions", detached)
			ask("/v1/chat/completions", questionBody("plain", "chat_keyed", "my penicillin", false), "Idempotency-Key", "of annabel")
			ask("/v1/responses", `{"model":"plain","input":"my penicillin","background":true}`)
			ask("/v1/chat/completions", questionBody("plain", "chat_waits", "my penicillin", true))
			ask("/v1/chat/completions", questionBody("plain", "chat_waits", "my penicillin again", true)) // waits for the one before
			eventually(t, "the turns run", func() bool { return len(asked(model)) >= 6 })
			if status, text := c.erase(t, hosts[len(hosts)-1], config); status != http.StatusOK {
				t.Fatalf("erase: %d %s", status, text)
			}
			running.Wait()
			for _, s := range hosts {
				s.stop() // what waits to be written is
			}
			for _, path := range []string{path, memoryPath} {
				if path == "" {
					continue
				}
				base, err := database.Open(t.Context(), store.Config{Path: path})
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range []string{"annabel", "penicillin"} {
					if left := storetest.Holding(t, base.Read, text); len(left) > 0 {
						t.Errorf("%s is still in %v", text, left)
					}
				}
				if err := base.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Where the conversations are at a memory server with keys, people count, export and erase theirs there
// too, with files, and nobody else's.
func TestPeople_MemoryElsewhere(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	far := writeFile(t, "far.yaml", "memory: {store: "+filepath.Join(folder, "far.db")+"}\n")
	office, guest := makeKeyFor(t, far, "office", "host"), makeKeyFor(t, far, "guest", "chat")
	m := serveAlone(t, far, "127.0.0.1:0")
	model := startModel(t, models.Config{Tool: "none", Tokens: 3})
	s := serveHost(t, writeFile(t, "near.yaml", "llm: {provider: ollama}\nassistants: {plain: {}}\nstate: "+filepath.Join(folder, "near.db")+
		"\nidentity: {header: X-Forwarded-User}\ntrusted_proxies: [127.0.0.1]\nmemory: {url: \""+m.url+"\", key: \""+office+"\"}\n"), model)
	for _, name := range []string{"annabel", "robert"} {
		for _, chat := range []string{"one", "two"} {
			question := `{"model":"plain","chat_id":"chat_` + chat + `","messages":[{"role":"user","content":[{"type":"text","text":"I am ` + name + `"},
				{"type":"file","file":{"filename":"note.txt","file_data":"` + base64.StdEncoding.EncodeToString([]byte("the note of "+name)) + `"}}]}]}`
			if status, text := s.behindProxy(t, http.MethodPost, "/v1/chat/completions", question, name); status != http.StatusOK || !strings.Contains(text, `"saved":true`) {
				t.Fatalf("%s: %d %s", name, status, text)
			}
		}
	}
	var account struct{ Counts schemas.Erased }
	_, text := s.behindProxy(t, http.MethodGet, "/v1/account", "", "annabel")
	if err := json.Unmarshal([]byte(text), &account); err != nil || account.Counts["conversations"] != 2 {
		t.Errorf("the account says %s", text)
	}
	export := func(name string) (conversations []store.Exported, all string) {
		status, all := s.behindProxy(t, http.MethodGet, "/v1/account/export", "", name)
		if status != http.StatusOK {
			t.Fatalf("export: %d %s", status, all)
		}
		for line := range strings.Lines(all) {
			var r struct {
				Kind string
				Data json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			if r.Kind == "conversation" {
				var c store.Exported
				if err := json.Unmarshal(r.Data, &c); err != nil {
					t.Fatal(err)
				}
				conversations = append(conversations, c)
			}
		}
		return conversations, all
	}
	conversations, all := export("annabel")
	if len(conversations) != 2 || strings.Contains(all, "robert") {
		t.Errorf("annabel exports %d conversations: %s", len(conversations), all)
	}
	for _, c := range conversations {
		if len(c.Messages) != 2 || c.Messages[0].Content != "I am annabel" || len(c.Files) != 1 || string(c.Files[0].Data) != "the note of annabel" {
			t.Errorf("exported: %+v", c)
		}
	}
	rpc := caller{t: t, url: m.url, key: guest, client: s.client}
	erase := `{"jsonrpc":"2.0","id":1,"method":"memory-server/memory/erase","params":{"owner":"person:robert"}}`
	if text := rpc.want(http.StatusOK, "", http.MethodPost, "/jsonrpc", erase); !strings.Contains(text, "scope host") {
		t.Errorf("a guest erases: %s", text)
	}
	if status, text := s.behindProxy(t, http.MethodPost, "/v1/account/erase", `{"confirm":"annabel"}`, "annabel"); status != http.StatusOK || !strings.Contains(text, `"conversations":2`) {
		t.Errorf("erase: %d %s", status, text)
	}
	for name, want := range map[string]int{"annabel": 0, "robert": 2} {
		if conversations, _ := export(name); len(conversations) != want {
			t.Errorf("%s has %d conversations, want %d", name, len(conversations), want)
		}
	}
	s.stop()
	m.stop()
	base, err := database.Open(t.Context(), store.Config{Path: filepath.Join(folder, "far.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	if left := storetest.Holding(t, base.Read, "annabel"); len(left) > 0 {
		t.Errorf("the memory server still has annabel in %v", left)
	}
}
