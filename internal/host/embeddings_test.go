package host

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/budget"
	"molar/internal/store"
	"molar/schemas"
)

// vectorService answers /v1/embeddings, and reports the texts of each request. It is busy at first.
func vectorService(t *testing.T) (url string, asked chan []string) {
	t.Helper()
	asked = make(chan []string, 16)
	busy := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent struct {
			Model string
			Input []string
		}
		if r.URL.Path != "/v1/embeddings" || json.NewDecoder(r.Body).Decode(&sent) != nil || sent.Model != "e5" {
			http.NotFound(w, r)
			return
		}
		if busy {
			busy = false
			w.Header().Set("Retry-After", "0.01")
			http.Error(w, `{"error":{"message":"busy"}}`, http.StatusServiceUnavailable)
			return
		}
		asked <- sent.Input
		var data []string
		for i := range sent.Input {
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, i+1))
		}
		_, _ = fmt.Fprintf(w, `{"data":[%s],"usage":{"prompt_tokens":7,"total_tokens":7}}`, strings.Join(data, ","))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", asked
}

// said reports that a line was logged.
type said struct {
	slog.Handler
	line string
	to   chan struct{}
}

func (said) Enabled(context.Context, slog.Level) bool { return true }

func (s said) Handle(_ context.Context, r slog.Record) error {
	if r.Message == s.line {
		s.to <- struct{}{}
	}
	return nil
}

func (s said) WithAttrs([]slog.Attr) slog.Handler { return s }

// The texts of a folder get the prefix of the model, its vectors are stored, and the calls are in the bill.
func TestNewToolServer_embeddings(t *testing.T) {
	url, asked := vectorService(t)
	docs := t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "a.txt"), []byte("From eight.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := loadConfig(t, fmt.Sprintf(`
llm:
  providers:
    vectors: {api: openai, base_url: %s}
knowledge:
  docs: {path: %s, embeddings: {provider: vectors, model: e5, prefix: {document: "passage: ", query: "query: "}}}
`, url, docs), map[string]string{"HOME": t.TempDir()})
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "m.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	book, err := budget.New(budget.Config{Store: db, Budgets: cfg.Budgets})
	if err != nil {
		t.Fatal(err)
	}
	topics, err := OpenTopics(cfg)
	if err != nil {
		t.Fatal(err)
	}
	computed := make(chan struct{}, 1)
	log := slog.New(said{slog.DiscardHandler, "vectors computed", computed})
	tools, err := NewToolServer(cfg, topics, nil, db, book, log)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"passage: a\n\nFrom eight."}, <-asked); diff != "" {
		t.Error(diff)
	}
	<-computed
	if err := tools.Close(); err != nil {
		t.Fatal(err)
	}
	if err := book.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines, err := db.UsageOf(t.Context(), "", time.Now())
	want := []schemas.UsageLine{{
		Day: time.Now().UTC().Format(time.DateOnly), Groups: []string{}, Provider: "vectors", Model: "e5", UsageSum: schemas.UsageSum{Calls: 1, Prompt: 7},
	}}
	if diff := cmp.Diff(want, lines); err != nil || diff != "" {
		t.Error(err, diff)
	}

	meaning, err := meaningOf(cfg, cfg.Knowledge[0].Value.Embeddings, db, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	if vectors, err := meaning.Embedder.Embed(t.Context(), []string{"when?"}, true); err != nil || len(vectors) != 1 {
		t.Error(vectors, err)
	}
	if diff := cmp.Diff([]string{"query: when?"}, <-asked); diff != "" {
		t.Error(diff)
	}

	// The same names at another address are another model.
	moved := *cfg
	moved.LLM.Providers = slices.Clone(cfg.LLM.Providers)
	moved.LLM.Providers[0].Value.BaseURL = "https://elsewhere.example/v1"
	if other, err := meaningOf(&moved, cfg.Knowledge[0].Value.Embeddings, db, nil, log); err != nil || other.Key == meaning.Key || strings.Contains(other.Key, "elsewhere") {
		t.Errorf("key %q at both addresses, error %v", meaning.Key, err)
	}

	// Another host on the same store computes nothing; one without a store compares words.
	for _, with := range []*store.DB{db, nil} {
		again, err := NewToolServer(cfg, topics, nil, with, nil, log)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("computed again: %q", <-asked)
	}
}

// A command that only shows what there is has no vectors computed.
func TestOpen_look(t *testing.T) {
	url, asked := vectorService(t)
	docs := t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "a.txt"), []byte("From eight.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := loadConfig(t, fmt.Sprintf(`
llm:
  provider: offline
  providers:
    vectors: {api: openai, base_url: %s}
memory: {store: %s}
knowledge:
  docs: {path: %s, embeddings: {provider: vectors, model: e5}}
`, url, filepath.Join(t.TempDir(), "m.db"), docs), map[string]string{"HOME": t.TempDir()})
	h, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler), Options{Look: true})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.MCP.Wait(t.Context(), []string{schemas.ToolServer}); err != nil {
		t.Fatal(err)
	}
	folders, err := Knowledge{Manager: h.MCP}.Read(t.Context())
	at := slices.IndexFunc(folders, func(k schemas.KnowledgeStatus) bool { return k.Name == "docs" })
	if err != nil || at < 0 || folders[at].Passages != 1 || folders[at].Meaning != nil || len(asked) > 0 {
		t.Errorf("%+v, error %v; %d requests", folders, err, len(asked))
	}
}
