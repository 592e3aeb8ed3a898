//go:build unix

package knowledge_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/documents"
	"molar/mcpservers/knowledge"
	"molar/schemas"
)

// converting opens a folder on disk whose PDF a script converts.
func converting(t *testing.T, script string, files map[string]string) (f *knowledge.Folder, root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(root, name), text)
	}
	r, err := documents.New(documents.Config{Convert: map[string][]string{"pdf": {"sh", "-c", script, "sh", "{}"}}})
	if err != nil {
		t.Fatal(err)
	}
	f, err = knowledge.Open(knowledge.Config{Name: "garden", Files: knowledge.Dir(root), Path: root, Documents: r})
	if err != nil {
		t.Fatal(err)
	}
	return f, root
}

// A document is converted once for each change of it, whatever else changes.
func TestFolder_ConvertsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count := filepath.Join(t.TempDir(), "count")
		f, root := converting(t, `echo x >>"`+count+`"; tail -c +9 "$1"`, map[string]string{"a.pdf": "%PDF-1.7Roses want sun.\f1. Ferns\nFerns want shade.\f", "b.md": "# Moss\n\nMoss wants rain."})
		defer f.Close()
		check := func(question, page string, times int) {
			t.Helper()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			got := first(t, f, question)
			if place := got.Place.Text("en"); place != page {
				t.Errorf("%q is found at %q, want %q", question, place, page)
			}
			text, err := os.ReadFile(count)
			if n := strings.Count(string(text), "x"); n != times || err != nil {
				t.Errorf("converted %d times, want %d (error %v)", n, times, err)
			}
		}
		check("what do ferns want", "a.pdf, page 2", 1)
		write(t, filepath.Join(root, "synonyms.txt"), "ferns, bracken\n")
		check("what does bracken want", "a.pdf, page 2", 1)
		write(t, filepath.Join(root, "b.md"), "# Moss\n\nMoss wants fog.")
		check("what does moss want", "b.md, Moss", 1)
		write(t, filepath.Join(root, "a.pdf"), "%PDF-1.7Ferns want peat.\f")
		check("what do ferns want", "a.pdf, page 1", 2)
		if err := os.Remove(filepath.Join(root, "a.pdf")); err != nil {
			t.Fatal(err)
		}
		check("what do ferns want", "", 2)
	})
}

// A file that cannot be read costs only itself, and has a reason until it can.
func TestFolder_FilesThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outside := filepath.Join(t.TempDir(), "secret.md")
		write(t, outside, "# Secret\n\nThe key is under the mat.")
		f, root := converting(t, `exit 1`, map[string]string{"good.md": "# Ferns\n\nFerns want shade.", "bad.pdf": "%PDF-1.7", "no.pdf": "x", "bad.docx": "PK", "empty.txt": " \n", "photo.txt": "a\x00b", "slides.odp": "x"})
		defer f.Close()
		for _, link := range [][2]string{{outside, "link.md"}, {filepath.Dir(outside), "linked"}} {
			if err := os.Symlink(link[0], filepath.Join(root, link[1])); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := first(t, f, "what do ferns want"); got.Title != "Ferns" {
			t.Errorf("a good file is found as %q", got.Title)
		}
		if got := first(t, f, "where is the key under the mat"); got.Title != "" {
			t.Errorf("a link is followed: %+v", got)
		}
		got := f.Status()
		want := []schemas.UnreadFile{
			{File: "bad.docx", Why: "it is damaged or cut off"},
			{File: "bad.pdf", Why: "it is damaged, or sh cannot read it: exit status 1"},
			{File: "empty.txt", Why: "it is empty"},
			{File: "link.md", Why: "a link"},
			{File: "linked", Why: "a link"},
			{File: "no.pdf", Why: "its content is not what its name says: it is no PDF"},
			{File: "photo.txt", Why: "its content is no text"},
			{File: "slides.odp", Why: "no program reads .odp: name one in convert, or save it as PDF"},
		}
		if diff := cmp.Diff(want, got.Unread); diff != "" || got.UnreadFiles != len(want) || got.Files != 1 || got.Done != 1 {
			t.Errorf("%d of %d files (-want +got):\n%s", got.Done, got.Files, diff)
		}
		write(t, filepath.Join(root, "bad.docx"), "") // and now it is read
		write(t, filepath.Join(root, "photo.txt"), "Moss wants rain.")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := f.Status(); got.Files != 2 || got.Unread[0].Why != "it is empty" {
			t.Errorf("after a change: %+v", got)
		}
	})
}

// A converter that comes later reads the files that wait for it.
func TestFolder_ConverterThatComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bin := t.TempDir()
		t.Setenv("PATH", bin)
		root := t.TempDir()
		write(t, filepath.Join(root, "a.pdf"), "%PDF-1.7")
		f, err := knowledge.Open(knowledge.Config{Name: "garden", Files: knowledge.Dir(root), Path: root})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := first(t, f, "ferns"); got.Title != "" {
			t.Fatalf("got %+v", got)
		}
		if got := f.Status().Unread; len(got) != 1 || !strings.Contains(got[0].Why, "install pdftotext") {
			t.Errorf("not read: %v", got)
		}
		if err := os.WriteFile(filepath.Join(bin, "pdftotext"), []byte("#!/bin/sh\necho Ferns want shade.\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := first(t, f, "ferns"); got.Place.Page != 1 || len(f.Status().Unread) != 0 {
			t.Errorf("found %+v, not read %v", got, f.Status().Unread)
		}
	})
}

// While a document is converted, questions about others are answered.
func TestFolder_SlowDocuments(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	f, _ := converting(t, `while ! [ -e "`+gate+`" ]; do sleep 0.01; done; echo Roses want sun.`, map[string]string{"a.pdf": "%PDF-1.7", "b.md": "# Ferns\n\nFerns want shade."})
	defer f.Close()
	if got := first(t, f, "what do ferns want"); got.Title != "Ferns" {
		t.Errorf("found %+v", got)
	}
	began := time.Now()
	if first(t, f, "what do roses want"); time.Since(began) > 2*time.Second {
		t.Error("each question waits for the document")
	}
	if s := f.Status(); s.Done != 1 || s.Files != 2 || s.State() != "reading, 1 of 2 files" {
		t.Errorf("status %+v", s)
	}
	write(t, gate, "open")
}

// While many documents are converted, a new text is found before all of them are.
func TestFolder_NewTextAmongSlowDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	files := make(map[string]string)
	for i := range 8 {
		files[fmt.Sprintf("%d.pdf", i)] = "%PDF-1.7"
	}
	f, root := converting(t, `sleep 0.6; echo Roses want sun.`, files)
	defer f.Close()
	write(t, filepath.Join(root, "new.md"), "# Ferns\n\nFerns want shade.")
	for until := time.Now().Add(10 * time.Second); first(t, f, "what do ferns want").Title != "Ferns"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not found, status %+v", f.Status())
		}
	}
	if s := f.Status(); s.Done >= s.Files || s.Files != 9 {
		t.Errorf("found when all was read: %+v", s)
	}
}

// A document whose program is ended by somebody else each time holds up no other.
func TestFolder_DocumentTriedAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	f, _ := converting(t, `if grep -q bad "$1"; then sleep 2.2; kill -KILL $$; fi; echo Roses want sun.`, map[string]string{"0.pdf": "%PDF-1.7 bad", "1.pdf": "%PDF-1.7"})
	defer f.Close()
	for until := time.Now().Add(10 * time.Second); first(t, f, "what do roses want").Place.File != "1.pdf"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not found, status %+v", f.Status())
		}
	}
}

// No link leads out of a folder, also not one that a file became after it was listed.
func TestDir_Links(t *testing.T) {
	root, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	write(t, outside, "secret")
	write(t, filepath.Join(root, "in", "file"), "text")
	for _, link := range [][2]string{{outside, "out"}, {filepath.Dir(outside), "dir"}, {"../../..", "up"}} {
		if err := os.Symlink(link[0], filepath.Join(root, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	files := knowledge.Dir(root)
	if text, err := fs.ReadFile(files, "in/file"); err != nil || string(text) != "text" {
		t.Errorf("got %q, error %v", text, err)
	}
	for _, name := range []string{"out", "dir/secret", "up/etc/passwd", "../" + filepath.Base(root) + "/in/file", outside} {
		if text, err := fs.ReadFile(files, name); err == nil {
			t.Errorf("%s leads to %q", name, text)
		}
	}
	if err := fstest.TestFS(knowledge.Dir(filepath.Join(root, "in")), "file"); err != nil {
		t.Error(err)
	}
}

// A program that cannot be started is no fault of the document: it is tried again.
func TestFolder_TriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		temporary := filepath.Join(t.TempDir(), "later")
		t.Setenv("TMPDIR", temporary)
		f, _ := converting(t, `echo Ferns want shade.`, map[string]string{"a.pdf": "%PDF-1.7"})
		defer f.Close()
		if got := first(t, f, "ferns"); got.Title != "" || len(f.Status().Unread) != 1 {
			t.Fatalf("found %+v, status %+v", got, f.Status())
		}
		if err := os.Mkdir(temporary, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := first(t, f, "ferns"); got.Place.Page != 1 || len(f.Status().Unread) != 0 {
			t.Errorf("found %+v, status %+v", got, f.Status())
		}
	})
}

// BenchmarkFolder_Converted reads a hundred PDF of five pages with a converter that costs next to nothing.
func BenchmarkFolder_Converted(b *testing.B) {
	root := b.TempDir()
	for i := range 100 {
		var text strings.Builder
		text.WriteString("%PDF-1.7")
		for page := range 5 {
			text.WriteString(strings.Repeat(fmt.Sprintf("Plant %d of page %d wants sun and water.\n\n", i, page), 40) + "\f")
		}
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("%d.pdf", i)), []byte(text.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	r, err := documents.New(documents.Config{Convert: map[string][]string{"pdf": {"cat", "{}"}}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		f, err := knowledge.Open(knowledge.Config{Name: "garden", Files: knowledge.Dir(root), Path: root, Documents: r})
		if err != nil {
			b.Fatal(err)
		}
		for f.Progress().Files == 0 || f.Progress().Done < f.Progress().Files {
			time.Sleep(time.Millisecond)
		}
		f.Close()
	}
}
