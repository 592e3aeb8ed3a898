package search_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/mcpservers"
	"molar/mcpservers/knowledge"
	"molar/mcpservers/search"
	"molar/schemas"
)

// read reads a resource; found is false if the server says that there is none.
func read(t *testing.T, d *mcpservers.Dispatcher, uri string, to any) (found bool) {
	t.Helper()
	params, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		t.Fatal(err)
	}
	result, failure, own := d.Request(t.Context(), "resources/read", params)
	if failure != nil {
		if !strings.Contains(string(failure), fmt.Sprint(mcpservers.CodeResourceNotFound)) {
			t.Errorf("%s: %s", uri, failure)
		}
		return false
	}
	var answer struct {
		Contents []struct{ URI, MIMEType, Text string }
	}
	if err := json.Unmarshal(result, &answer); err != nil || !own || len(answer.Contents) != 1 || answer.Contents[0].URI != uri {
		t.Fatalf("%s: %v %s", uri, err, result)
	}
	if err := json.Unmarshal([]byte(answer.Contents[0].Text), to); err != nil {
		t.Fatal(err)
	}
	return true
}

// folderOf returns a tool server with one folder of the disk, which holds these files.
func folderOf(t *testing.T, link string, files map[string]string) (d *mcpservers.Dispatcher, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "docs")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := knowledge.Open(knowledge.Config{Name: "handbook", Files: knowledge.Dir(dir), Path: dir, Link: link})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	if d, err = search.New(search.Config{Folders: []*knowledge.Folder{f}}); err != nil {
		t.Fatal(err)
	}
	return d, dir
}

func TestServer_Resources(t *testing.T) {
	d, dir := folderOf(t, "https://docs.example.com/", map[string]string{
		"rules/nghỉ phép #1?.md": "# Leave\n\n## Annual\n\n30 days.\n", "scan.exe": "x", "vi/other.md": "Xin chào",
	})
	const file = "rules/nghỉ phép #1?.md"
	var got schemas.Document
	if !read(t, d, "knowledge://handbook/"+(&url.URL{Path: file}).EscapedPath(), &got) {
		t.Fatal("no such document")
	}
	want := schemas.Document{
		Folder: "handbook", File: file, Title: "Leave", Link: "https://docs.example.com/rules/ngh%E1%BB%89%20ph%C3%A9p%20%231%3F.md",
		Parts: []schemas.DocumentPart{{Place: schemas.Place{Folder: "handbook", File: file, Line: 5, Part: 1, Heading: "Annual", Anchor: "annual"}, Title: "Leave - Annual", Text: "30 days."}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var status []schemas.KnowledgeStatus
	if !read(t, d, "knowledge://status", &status) || len(status) != 1 || status[0].Name != "handbook" || status[0].Files != 2 || status[0].UnreadFiles != 1 || status[0].Path != dir {
		t.Errorf("status %+v", status)
	}
	var listed struct {
		ResourceTemplates []struct{ URITemplate string }
	}
	request(t, d, "resources/templates/list", map[string]any{}, &listed)
	if len(listed.ResourceTemplates) != 1 || listed.ResourceTemplates[0].URITemplate != "knowledge://{name}/{+file}{?from}" {
		t.Errorf("listed %+v", listed)
	}
}

// Nothing but the files that are read is a document, whatever the address is made of.
func TestServer_ResourcesOutside(t *testing.T) {
	d, dir := folderOf(t, "", map[string]string{"a.md": "text", ".hidden.md": "secret", "b.exe": "secret", "sub/c.md": "text"})
	secret := filepath.Join(filepath.Dir(dir), "secret.md")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(dir), filepath.Join(dir, "up")); err != nil {
		t.Fatal(err)
	}
	var got any
	if !read(t, d, "knowledge://handbook/a.md", &got) || !read(t, d, "knowledge://handbook/sub/c.md", &got) {
		t.Error("the documents are missing")
	}
	for _, uri := range []string{
		"knowledge://handbook/../secret.md", "knowledge://handbook/%2e%2e/secret.md", "knowledge://handbook/%2e%2e%2fsecret.md", "knowledge://handbook/sub/../a.md",
		"knowledge://handbook/" + secret, "knowledge://handbook/" + url.PathEscape(secret), "knowledge://handbook/link.md", "knowledge://handbook/up/secret.md",
		"knowledge://handbook/up/docs/a.md", "knowledge://handbook/.hidden.md", "knowledge://handbook/b.exe", "knowledge://handbook/a.md/", "knowledge://handbook/./a.md",
		`knowledge://handbook/sub\c.md`, "knowledge://handbook/", "knowledge://handbook", "knowledge://handbook/sub", "knowledge://other/a.md", "knowledge:///a.md",
		"knowledge://", "file://handbook/a.md", "file:///etc/passwd", "a.md", "knowledge://handbook/%zz", "knowledge://handbook/a.md%00", "knowledge://u@handbook:1/a.md",
	} {
		if read(t, d, uri, &got) {
			t.Errorf("%s is read: %v", uri, got)
		}
	}
}

// A long document comes in pieces, none of which is lost or too long.
func TestServer_LongDocument(t *testing.T) {
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "%d %s\n\n", i, strings.Repeat("word ", 200))
	}
	d, _ := folderOf(t, "", map[string]string{"long.txt": text.String()})
	parts, pieces, from := 0, 0, 0
	for {
		var got schemas.Document
		if !read(t, d, fmt.Sprintf("knowledge://handbook/long.txt?from=%d", from), &got) {
			t.Fatal("no document")
		}
		size := 0
		for i, p := range got.Parts {
			size += len(p.Text)
			if !strings.HasPrefix(p.Text, fmt.Sprintf("%d ", parts+i)) {
				t.Fatalf("part %d is %.20s", parts+i, p.Text)
			}
		}
		if size > 1<<20 {
			t.Errorf("a piece of %d bytes", size)
		}
		parts, pieces = parts+len(got.Parts), pieces+1
		if from = got.Next; from == 0 {
			break
		}
	}
	if parts != 3000 || pieces < 3 {
		t.Errorf("%d parts in %d pieces", parts, pieces)
	}
	var past schemas.Document
	if !read(t, d, "knowledge://handbook/long.txt?from=999999", &past) || len(past.Parts) != 0 || past.Parts == nil {
		t.Errorf("past the end: %+v", past)
	}
}
