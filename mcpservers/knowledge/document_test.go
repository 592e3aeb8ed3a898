package knowledge_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"molar/mcpservers/knowledge"
	"molar/schemas"
)

// A document is returned as it is searched, in its order, and nothing but what is read is returned.
func TestFolder_Document(t *testing.T) {
	f := open(t, garden(), "")
	got, err := f.Document(t.Context(), "roses.md")
	want := schemas.Document{Folder: "garden", File: "roses.md", Title: "Roses", Parts: []schemas.DocumentPart{
		{Place: schemas.Place{Folder: "garden", File: "roses.md", Line: 3, Part: 1, Heading: "Roses", Anchor: "roses"}, Title: "Roses", Text: "Prune roses in early spring, above an outward bud."},
		{Place: schemas.Place{Folder: "garden", File: "roses.md", Line: 7, Part: 2, Heading: "Greenfly", Anchor: "greenfly"}, Title: "Roses - Greenfly", Text: "Wash aphids off with soapy water; ladybirds eat the rest."},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	for _, name := range []string{"", ".", "none.md", "picture.png", ".git/config.md", "../garden/roses.md", "/etc/passwd", "notes", "notes/../roses.md"} {
		if d, err := f.Document(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: got %v, error %v", name, d, err)
		}
	}
}

func TestFolder_Status(t *testing.T) {
	files := fstest.MapFS{"a.md": {Data: []byte("# A\n\none\n\n## B\n\ntwo")}, "b.exe": {Data: []byte("x")}}
	f, err := knowledge.Open(knowledge.Config{Name: "garden", About: "All on gardens.", Files: files, Path: "/garden"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	first(t, f, "one")
	want := schemas.KnowledgeStatus{
		Name: "garden", Description: "All on gardens.", Path: "/garden", Done: 1, Files: 1, Passages: 2, Bytes: 6,
		Unread: []schemas.UnreadFile{{File: "b.exe", Why: "nothing reads this kind of file; a program can be named for it in convert"}}, UnreadFiles: 1, Learned: true,
	}
	if diff := cmp.Diff(want, f.Status()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
