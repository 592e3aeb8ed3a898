package providers_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page that explains how to add a provider compiles: each block of Go is inserted at its
// place in the current code.
func TestAddingAProvider(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a part of the program")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "adding-a-provider.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{} // by path, as changed by the page
	blocks := regexp.MustCompile("(?s)```go\n// ([^\n,]+)(?:, after: ([^\n]+))?\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != strings.Count(string(page), "```go") {
		t.Fatalf("%d of the blocks do not begin with the file that they belong to", strings.Count(string(page), "```go")-len(blocks))
	}
	for _, b := range blocks {
		path, after, code := filepath.Join(root, filepath.FromSlash(b[1])), b[2], b[3]
		text, known := files[path]
		if !known {
			data, err := os.ReadFile(path)
			if err != nil && after != "" {
				t.Fatal(err)
			}
			text = string(data)
		}
		if files[path] = text + code; after != "" {
			files[path] = insert(t, b[1], text, after, code)
		}
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range files {
		copied := filepath.Join(t.TempDir(), filepath.Base(path))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[path] = copied
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(list, data, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "./providers/parrot", "./eval/tape", "./internal/host")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("docs/adding-a-provider.md does not build: %v\n%s", err, out)
	}
}

// insert puts code below the one line of a file that begins with after, whatever its spaces.
func insert(t *testing.T, file, text, after, code string) string {
	t.Helper()
	var out strings.Builder
	found := 0
	for line := range strings.Lines(text) {
		out.WriteString(line)
		if strings.HasPrefix(strings.Join(strings.Fields(line), " "), after) {
			found++
			out.WriteString(code)
		}
	}
	if found != 1 {
		t.Fatalf("%s has %d lines that begin with %q, want one", file, found, after)
	}
	return out.String()
}
