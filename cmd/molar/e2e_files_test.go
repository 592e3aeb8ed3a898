package main

import (
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/testkit/models"
)

// The files of a question are stored with its conversation, in the host's own database or
// elsewhere: they are listed and read, exported, and deleted with the conversation. The model gets
// them only with their own question.
func TestFilesAreKept(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is slow: it sends, stores and reads megabytes, one request after the other")
	}
	for _, place := range []string{"here", "elsewhere"} {
		t.Run(place, func(t *testing.T) {
			folder := t.TempDir()
			memory := "memory: {store: " + filepath.Join(folder, "host.db") + "}\n"
			if place == "elsewhere" {
				m := serveAlone(t, writeFile(t, "mcp.yaml", "memory: {store: "+filepath.Join(folder, "memory.db")+"}\n"), "127.0.0.1:0")
				memory = "memory: {url: \"" + m.url + "\"}\nstate: " + filepath.Join(folder, "host.db") + "\n"
			}
			model := startModel(t, models.Config{Script: func(models.Request) *models.Reply { return models.Text("An answer.") }})
			s := serveHost(t, writeFile(t, "molar.yaml", "llm: {provider: ollama}\nassistants: {plain: {}}\n"+memory), model)
			long := strings.Repeat("A long note. ", 100_000) // in more parts than one
			body := `{"model":"plain","chat_id":"c","messages":[{"role":"user","content":[{"type":"text","text":"What is this?"},
				{"type":"file","file":{"filename":"<b>.txt","file_data":"` + base64.StdEncoding.EncodeToString([]byte(long)) + `"}},
				{"type":"file","file":{"filename":"x.html","file_data":"data:text/html;base64,PHNjcmlwdD4xPC9zY3JpcHQ+"}}]}]}`
			if status, answer := s.do(t, http.MethodPost, "/v1/chat/completions", body); status != http.StatusOK || !strings.Contains(answer, `"saved":true`) {
				t.Fatalf("%d %s", status, answer)
			}
			if next := s.ask(t, "plain", "c", "And now?"); !next.molar.Saved {
				t.Fatalf("%+v", next.molar)
			}
			var got struct {
				Messages []struct {
					Content string
					Files   []struct {
						Name, Media, URL string
						Size             int
					}
				}
			}
			s.get(t, "/v1/conversations/c", &got)
			if len(got.Messages) != 4 || len(got.Messages[0].Files) != 2 || len(got.Messages[2].Files) != 0 {
				t.Fatalf("%+v", got)
			}
			note, page := got.Messages[0].Files[0], got.Messages[0].Files[1]
			if note.Name != "<b>.txt" || note.Media != "text/plain" || note.Size != len(long) || page.Media != "text/html" {
				t.Errorf("%+v", got.Messages[0].Files)
			}
			if status, text := s.do(t, http.MethodGet, note.URL, ""); status != http.StatusOK || text != long {
				t.Errorf("%d, %d bytes", status, len(text))
			}
			res, err := http.Get(s.url + page.URL)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			for name, want := range map[string]string{
				"Content-Type": "application/octet-stream", "Content-Disposition": "attachment; filename=x.html",
				"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff",
			} {
				if got := res.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			shown := 0
			for _, r := range asked(model) {
				if strings.Contains(r.LastUser, "And now?") && strings.Contains(r.Body, "A long note.") {
					shown++
				}
			}
			if shown != 1 {
				t.Errorf("the file is shown with the next question in %d requests", shown)
			}
			if status, _ := s.do(t, http.MethodDelete, "/v1/conversations/c", ""); status != http.StatusOK {
				t.Errorf("delete: %d", status)
			}
			if status, _ := s.do(t, http.MethodGet, note.URL, ""); status != http.StatusNotFound {
				t.Errorf("a deleted file: %d", status)
			}
		})
	}
}
