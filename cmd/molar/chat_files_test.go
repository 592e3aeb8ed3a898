package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/cli"
)

// Files are sent with the question: images, sounds and PDF unchanged, text as text, also from a
// pipe. A type that no model accepts is refused before anything is sent.
func TestChat_Files(t *testing.T) {
	t.Parallel()
	var sent string
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"A molar."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"xray.png": "\x89PNG\r\n\x1a\n\x00\x01", "plan.pdf": "%PDF-1.7 plan", "notes.md": "# Brush twice", "prices.csv": "Service;Price\nM\xFCll;3\n", "a.zip": "PK\x03\x04\x00\xff",
		"molar.yaml": "listen: 127.0.0.1:0\nmemory: {store: ./molar.db}\ndefault: general\nllm: {provider: openai, openai: {base_url: \"" + model.URL + "/v1\", model: m}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	env := map[string]string{"HOME": dir}
	code, out := molarIn(t, env, "chat", "--config", at("molar.yaml"), "--file", at("xray.png"), "--file", at("plan.pdf"), "--file", at("notes.md"), "--file", at("prices.csv"), "What is this?")
	if code != cli.OK || !strings.Contains(out, "A molar.") {
		t.Fatalf("%d %s", code, out)
	}
	for _, part := range []string{`"image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAQ=="}`, `"filename":"plan.pdf"`, "# Brush twice", "Service: Müll; Price: 3", "What is this?"} {
		if !strings.Contains(sent, part) {
			t.Errorf("the request lacks %s: %s", part, sent)
		}
	}
	sent = ""
	for args, want := range map[string]string{"a.zip": "a.zip is application/zip: models take", "none.png": "no such file"} {
		if code, out := molarIn(t, env, "chat", "--config", at("molar.yaml"), "--file", at(args), "What is this?"); code != cli.Misuse || !strings.Contains(out, want) || sent != "" {
			t.Errorf("%s: %d %s", args, code, out)
		}
	}
}
