package main

import (
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
					if left := storetest.Holding(t, base, text); len(left) > 0 {
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
