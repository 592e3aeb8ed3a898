package imports_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	trustNote = regexp.MustCompile(`(?m)^\[\^([a-z]+)\]: (.*)$`)
	trustTest = regexp.MustCompile("`([a-z/]+)`|(Test[A-Za-z_]+)")
)

// Each note of the page on trust is used, and names tests that exist.
func TestTrust_NamesItsTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	notes := trustNote.FindAllStringSubmatch(string(page), -1)
	if len(notes) < 20 {
		t.Fatalf("%d notes", len(notes))
	}
	for _, note := range notes {
		if strings.Count(string(page), "[^"+note[1]+"]") < 2 {
			t.Errorf("no sentence refers to the note %q", note[1])
		}
		folder := ""
		for _, word := range trustTest.FindAllStringSubmatch(note[2], -1) {
			if word[1] != "" {
				folder = word[1]
				continue
			}
			if !hasTest(t, filepath.Join("../..", filepath.FromSlash(folder)), word[2]) {
				t.Errorf("note %q: %s has no test %s", note[1], folder, word[2])
			}
		}
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if raw, err := os.ReadFile(file); err == nil && strings.Contains(string(raw), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
