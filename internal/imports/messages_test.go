package imports_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every message of Molar that the page about what does not work names, between backquotes in the first
// column of its tables, stands in the code or on a page: "…" and what is quoted differ each time.
// Messages of others, such as the shell, stand between quotation marks there.
func TestMessages(t *testing.T) {
	const fewest = 50 // messages, so that the test cannot pass because it reads none
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	code := shown(t)
	message := regexp.MustCompile("`([^`]+)`")
	differs := regexp.MustCompile(`…|"[^"]*"|“[^”]*”`)
	seen := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		first, _, _ := strings.Cut(line, " | ")
		for _, m := range message.FindAllStringSubmatch(first, -1) {
			seen++
			for _, part := range differs.Split(m[1], -1) {
				if part = strings.Trim(part, " .,:()"); !strings.Contains(code, part) {
					t.Errorf("%q of the message %q is nowhere in the code", part, m[1])
				}
			}
		}
	}
	if seen < fewest {
		t.Errorf("the page names %d messages, want %d at least", seen, fewest)
	}
}

// shown returns the texts of all files that hold what people are shown: code, pages and the script that installs.
func shown(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", ".cache", "bench", "bin", "dist", "docs", "node_modules", "testdata"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{".go", ".js", ".html", ".sh"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
