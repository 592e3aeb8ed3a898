package knowledge_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"molar/mcpservers/knowledge"
)

// Unread files are named with the reason, one of each kind first; files that nobody expects to be
// read are not named.
func TestUnread(t *testing.T) {
	file := &fstest.MapFile{Data: []byte("x")}
	const read = "; what is read is Markdown, HTML and plain text (.md, .markdown, .mdx, .html, .htm, .txt, .text)"
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"all are read":  {fstest.MapFS{"boiler.md": file, "a/b.HTML": file, "synonyms.txt": file}, ""},
		"none is there": {fstest.MapFS{}, ""},
		"documents as people have them": {
			fstest.MapFS{"manual.pdf": file, "notes.docx": file, "contacts.csv": file, "boiler.md": file},
			"3 of 4 files are not read: contacts.csv, manual.pdf, notes.docx" + read,
		},
		"many": {
			fstest.MapFS{"a.pdf": file, "b.pdf": file, "c.pdf": file, "d.pdf": file, "e.pdf": file, "below/f.pdf": file, "z.PPTX": file},
			"7 of 7 files are not read: a.pdf, z.PPTX, b.pdf, below/f.pdf, c.pdf and 2 more" + read,
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
			"2 of 3 files are not read: big.txt (over 8 MiB), other.md (a link)" + read,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := knowledge.Unread(c.files); got != c.want {
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
	files["manual.pdf"] = files["picture.png"]
	f, err := knowledge.Open(knowledge.Config{Name: "garden", Files: files, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	first(t, f, "aphids")
	if got := log.String(); strings.Count(got, "1 of 5 files are not read: manual.pdf") != 1 || !strings.Contains(got, "knowledge=garden") {
		t.Errorf("the log is %s", got)
	}
}
