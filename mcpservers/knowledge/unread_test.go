package knowledge_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"molar/internal/documents"
	"molar/mcpservers/knowledge"
)

// Unread files are named with the reason, one of each kind first; files that nobody expects to be
// read are not named.
func TestUnread(t *testing.T) {
	file := &fstest.MapFile{Data: []byte("x")}
	const read = "; what is read is .md, .markdown, .mdx, .html, .htm, .txt, .text, .csv, .docm, .docx, .none, .pdf, .tsv, .xlsm, .xlsx"
	reader, err := documents.New(documents.Config{Convert: map[string][]string{"pdf": {os.Args[0], "{}"}, "none": {"no-such-program", "{}"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"all are read":  {fstest.MapFS{"boiler.md": file, "a/b.HTML": file, "synonyms.txt": file}, ""},
		"none is there": {fstest.MapFS{}, ""},
		"documents as people have them": {
			fstest.MapFS{"manual.pdf": file, "notes.docx": file, "contacts.csv": file, "boiler.md": file, "old.doc": file, "slides.odp": file, "a.none": file},
			"3 of 7 files are not read: a.none (no program reads .none: \"no-such-program\" in convert is not found on this machine), " +
				"old.doc (an old file of Word: save it as .docx), slides.odp (no program reads .odp: name one in convert, or save it as PDF)",
		},
		"many": {
			fstest.MapFS{"a.exe": file, "b.exe": file, "c.exe": file, "d.exe": file, "e.exe": file, "below/f.exe": file, "z.ISO": file},
			"7 of 7 files are not read: a.exe, z.ISO, b.exe, below/f.exe, c.exe and 2 more" + read,
		},
		"pictures without a page that shows them": {
			fstest.MapFS{"prices.jpg": file, "boiler.txt": file, "page.css": file},
			"1 of 2 files are not read: prices.jpg (a picture: save its text as a document, or name a program for it in convert)",
		},
		"kept for themselves, and the look of pages": {
			fstest.MapFS{
				".git/a.pdf": file, ".DS_Store": file, "~$notes.docx": file, "boiler.md~": file, "page.html": file,
				"page.css": file, "page.js": file, "page.png": file, "LICENSE": file,
			},
			"1 of 2 files are not read: LICENSE" + read,
		},
		"too large, and a link": {
			fstest.MapFS{"big.txt": {Data: make([]byte, 8<<20+1)}, "other.md": {Mode: fs.ModeSymlink}, "boiler.md": file},
			"2 of 3 files are not read: big.txt (over 8 MiB), other.md (a link)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := knowledge.Unread(c.files, reader); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// buffer can be written and read concurrently.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// The log names the unread files once.
func TestFolder_LogsWhatIsNotRead(t *testing.T) {
	var log buffer
	files := garden()
	files["manual.exe"] = files["picture.png"]
	f, err := knowledge.Open(knowledge.Config{Name: "garden", Files: files, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	first(t, f, "aphids")
	if got := log.String(); strings.Count(got, "1 of 5 files are not read: manual.exe") != 1 || !strings.Contains(got, "knowledge=garden") {
		t.Errorf("the log is %s", got)
	}
}
