package ollama_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/testkit/ollamatest"
	"molar/providers"
	"molar/providers/ollama"
	"molar/schemas"
)

// embedding returns a server that answers /api/embed with a status and a body, and what it was sent.
func embedding(t *testing.T, status int, body string) (url string, sent *map[string]any) {
	t.Helper()
	sent = new(map[string]any)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/embed" || json.NewDecoder(r.Body).Decode(sent) != nil {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, sent
}

func TestEmbed(t *testing.T) {
	url, sent := embedding(t, http.StatusOK, `{"model":"m","embeddings":[[1,0],[0.5,0.5]],"total_duration":1,"prompt_eval_count":7}`)
	p := newProvider(t, ollama.Config{BaseURL: url, KeepAlive: "5m"})
	got, used, err := p.Embed(t.Context(), "m", []string{"a", "b"}, providers.PurposeDocument)
	if diff := cmp.Diff([][]float32{{1, 0}, {0.5, 0.5}}, got); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	if diff := cmp.Diff(&schemas.Usage{PromptTokens: 7, TotalTokens: 7}, used); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{"model": "m", "input": []any{"a", "b"}, "truncate": true, "keep_alive": "5m0s", "options": nil}
	if diff := cmp.Diff(want, *sent); diff != "" {
		t.Error(diff)
	}
}

func TestEmbed_faults(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		kind   providers.Kind
		want   string
	}{
		"not pulled":    {404, `{"error":"model 'm' not found"}`, providers.KindModelNotFound, "ollama pull m"},
		"no Ollama":     {404, `404 page not found`, providers.KindUnavailable, "no Ollama at this address"},
		"none":          {501, `{"error":"this model does not support embeddings"}`, providers.KindUnavailable, "does not support embeddings"},
		"busy":          {503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, providers.KindUnavailable, "server busy"},
		"fewer vectors": {200, `{"embeddings":[[1,2]]}`, providers.KindProtocol, "1 vectors came for 2 texts"},
		"zero":          {200, `{"embeddings":[[1,2],[0,0]]}`, providers.KindProtocol, "zero or has no numbers"},
		"no JSON":       {200, `<html>`, providers.KindProtocol, "does not answer like Ollama"},
		"an error":      {200, `{"error":"the runner ended"}`, providers.KindUnavailable, "the runner ended"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := embedding(t, tc.status, tc.body)
			_, _, err := newProvider(t, ollama.Config{BaseURL: url}).Embed(t.Context(), "m", []string{"a", "b"}, providers.PurposeQuestion)
			e, ok := errors.AsType[*providers.Error](err)
			if !ok || e.Kind != tc.kind || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v (%+v), want %s: %s", err, e, tc.kind, tc.want)
			}
		})
	}
	_, _, err := newProvider(t, ollama.Config{BaseURL: "127.0.0.1:1"}).Embed(t.Context(), "m", []string{"a"}, providers.PurposeQuestion)
	if providers.KindOf(err) != providers.KindUnavailable || !strings.Contains(err.Error(), "start Ollama") {
		t.Errorf("nobody listens: %v", err)
	}
}

// The real server computes vectors with any model that it can run.
func TestReal_Embed(t *testing.T) {
	s := ollamatest.Start(t)
	p := realProvider(t, s, ollama.Config{})
	s.Model(t, "m", script("one", "", "`1`"))
	ctx := within(t)
	texts := []string{"one", "two words", strings.Repeat("a long text ", 2000)}
	got, used, err := p.Embed(ctx, "m", texts, providers.PurposeDocument)
	if err != nil || len(got) != len(texts) || used.PromptTokens == 0 { // the long one is cut
		t.Errorf("%d vectors, usage %+v, error %v", len(got), used, err)
	}
	_, _, err = p.Embed(ctx, "missing", texts, providers.PurposeDocument)
	if providers.KindOf(err) != providers.KindModelNotFound || !strings.Contains(err.Error(), "ollama pull missing") {
		t.Errorf("a missing model: %v", err)
	}
}
