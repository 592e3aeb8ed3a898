package imports_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The built-in topic is a pack, and nothing else knows its subject: no code, page or word list names
// it, but for tests, examples and what records them.
func TestNoSubjectOutsideItsPack(t *testing.T) {
	subject := regexp.MustCompile(`(?i)(^|[^\pL\pM])(dental\pL*|dentist\pL*|tooth\pL*|teeth|răng|nha khoa|nha sĩ)([^\pL\pM]|$)`)
	aside := []string{"topics", "docs", "examples", "eval/suites", "bench", "internal/testkit", ".git", ".cache", ".ci", "agent/subject/learn/generate"}
	kinds := []string{".go", ".txt", ".yaml", ".yml", ".json", ".sql", ".js", ".css", ".html", ".svg"}
	read := 0
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if slices.Contains(aside, name) || entry.Name() == "testdata" || entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		case strings.HasSuffix(name, "_test.go") || !slices.Contains(kinds, path.Ext(name)):
			return nil
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		read++
		// The plural is grammar, among those of other words.
		content := strings.ReplaceAll(string(data), " tooth=teeth foot=feet ", " ")
		if found := subject.FindString(content); found != "" {
			t.Errorf("%s names %q: it belongs into the pack of its topic", name, strings.TrimSpace(found))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 500 {
		t.Errorf("only %d files were read; the walk misses some", read)
	}
}
