package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"molar/internal/store"
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
