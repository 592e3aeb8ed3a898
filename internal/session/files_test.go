package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/session"
	"molar/schemas"
)

// A question takes the files that it names, text as text and pictures as they are; other
// words with an @ stay words.
func TestQuestion_WithFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, data := range map[string]string{"notes.txt": "Tooth 36 hurts.", "x-ray.png": "\x89PNG\r\n\x1a\n\x00", filepath.Join("sub", "a.json"): "{}"} {
		_ = os.MkdirAll(filepath.Dir(name), 0o700)
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	q, err := session.Question{Prompt: "ask me@home.test and @nobody about @notes.txt, @x-ray.png @sub @sub/a.json"}.WithFiles()
	if err != nil {
		t.Fatal(err)
	}
	if len(q.Attached) != 3 || q.Attached[0].Text != "Tooth 36 hurts." || q.Attached[2].Name != "a.json" {
		t.Fatalf("the files are %+v", q.Attached)
	}
	if media := q.Attached[1].Media; len(media) != 1 || media[0].Kind != schemas.PartImage || !strings.HasPrefix(media[0].Text, "data:image/png;base64,") {
		t.Errorf("the media are %+v", media)
	}
	mail := "Dear all,\nsee @notes.txt"
	if q, err = (session.Question{Prompt: "About @x-ray.png: " + mail, Pasted: []string{mail}}).WithFiles(); err != nil || len(q.Attached) != 1 || q.Attached[0].Name != "x-ray.png" {
		t.Errorf("a pasted mail attached %+v, %v", q.Attached, err)
	}
}
