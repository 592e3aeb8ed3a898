package knowledge_test

import (
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

	"molar/mcpservers/knowledge"
	"molar/schemas"
)

func garden() fstest.MapFS {
	return fstest.MapFS{
		"roses.md":         {Data: []byte("# Roses\n\nPrune roses in early spring, above an outward bud.\n\n## Greenfly\n\nWash aphids off with soapy water; ladybirds eat the rest.\n")},
		"vi/chanh.md":      {Data: []byte("# Cây chanh\n\nLá chanh bị vàng thường do thiếu sắt hoặc úng nước: kiểm tra đất và bón thêm vi lượng.\n\n## Bão\n\nTrước bão hãy chằng cây.\n")},
		"tomatoes.html":    {Data: []byte("<title>Tomatoes</title><h2>Watering</h2><p>Water tomatoes deeply twice a week, more often in pots.</p>")},
		"notes/potato.txt": {Data: []byte("Plant potatoes ten centimetres deep when the soil is warm.\n")},
		".git/config.md":   {Data: []byte("# hidden aphids")},
		"picture.png":      {Data: []byte("aphids")},
	}
}

func open(t *testing.T, files fstest.MapFS, link string) *knowledge.Folder {
	t.Helper()
	f, err := knowledge.Open(knowledge.Config{Name: "garden", Files: files, Path: "garden", Link: link})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func first(t *testing.T, f *knowledge.Folder, question string) knowledge.Result {
	t.Helper()
	results, err := f.Search(t.Context(), knowledge.Query{Text: question}, 5)
	if err != nil {
		t.Fatal(err)
	}
	if len(results.Results) == 0 {
		return knowledge.Result{}
	}
	return results.Results[0]
}

// at returns the file and the line of a place.
func at(p schemas.Place) string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

func TestFolder_Search(t *testing.T) {
	f := open(t, garden(), "https://garden.example/")
	for _, tt := range []struct{ question, title, link, place string }{
		{"How do I get rid of aphids on roses?", "Roses - Greenfly", "https://garden.example/roses.md#greenfly", "roses.md:7"},
		{"how often should I water my tomato plants", "Tomatoes - Watering", "https://garden.example/tomatoes.html#watering", "tomatoes.html"},
		{"lá chanh vàng phải làm sao", "Cây chanh", "https://garden.example/vi/chanh.md#c%C3%A2y-chanh", "vi/chanh.md:3"},
		{"la chanh bi vang", "Cây chanh", "https://garden.example/vi/chanh.md#c%C3%A2y-chanh", "vi/chanh.md:3"},
		{"how deep do potatoes go", "potato", "https://garden.example/notes/potato.txt", "notes/potato.txt:1"},
		{"Who won the world cup?", "", "", ""},
		{"đọc báo ở đâu", "", "", ""}, // does not match the word for storm
		{"", "", "", ""},
		{"?!", "", "", ""},
	} {
		got := first(t, f, tt.question)
		if got.Title != tt.title || got.Link != tt.link || at(got.Place) != tt.place || got.Score < 0 || got.Score > 1 {
			t.Errorf("%q: got %q, %q at %q (%.2f), want %q, %q at %q", tt.question, got.Title, got.Link, at(got.Place), got.Score, tt.title, tt.link, tt.place)
		}
	}
}

// The order in which files are read decides nothing: a word with a typing error is the same known
// word in every index of the same files, and equal passages come in the same order.
func TestFolder_SameFilesFindTheSame(t *testing.T) {
	files := make(fstest.MapFS)
	for i, word := range []string{"planter", "plaster", "planner", "plasmer"} {
		files[fmt.Sprintf("%d.md", i)] = &fstest.MapFile{Data: []byte("# The " + word + "\n\nHow to clean a " + word + " in the yard.\n")}
	}
	var want knowledge.Found
	for i := range 20 {
		got, err := open(t, files, "").Search(t.Context(), knowledge.Query{Text: "clean a planmer in the yard"}, 3)
		if err != nil || len(got.Results) == 0 {
			t.Fatalf("%d results, error %v", len(got.Results), err)
		}
		if i == 0 {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("index %d (-first +this):\n%s", i, diff)
		}
	}
}

func TestFolder_Search_WithoutAnAddressNamesTheFile(t *testing.T) {
	if got := first(t, open(t, garden(), ""), "aphids"); got.Link != "roses.md" {
		t.Errorf("got the link %q", got.Link)
	}
}

// onDisk writes files into a temporary folder and opens it.
func onDisk(t *testing.T, files fstest.MapFS) (*knowledge.Folder, string) {
	t.Helper()
	root := t.TempDir()
	for name, file := range files {
		write(t, filepath.Join(root, filepath.FromSlash(name)), string(file.Data))
	}
	f, err := knowledge.Open(knowledge.Config{Name: "garden", Files: knowledge.Dir(root), Path: root})
	if err != nil {
		t.Fatal(err)
	}
	return f, root
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Changed, added and removed files are noticed while the folder answers.
func TestFolder_ReadsWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, root := onDisk(t, garden())
		defer f.Close()
		if got := first(t, f, "when to prune roses"); !strings.Contains(got.Content, "early spring") {
			t.Fatalf("got %q", got.Content)
		}
		write(t, filepath.Join(root, "roses.md"), "# Roses\n\nPrune roses when the forsythia blooms.")
		write(t, filepath.Join(root, "beans.md"), "# Beans\n\nBeans climb on poles.")
		if err := os.Remove(filepath.Join(root, "tomatoes.html")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := first(t, f, "when to prune roses"); !strings.Contains(got.Content, "forsythia") {
			t.Errorf("a changed file: got %q", got.Content)
		}
		if got := first(t, f, "what do beans climb on"); got.Title != "Beans" {
			t.Errorf("a new file: got %q", got.Title)
		}
		if got := first(t, f, "water tomatoes"); got.Title != "" {
			t.Errorf("a file that is gone answers: %q", got.Title)
		}
		if got := first(t, f, "aphids"); got.Title != "" {
			t.Errorf("a passage that is gone answers: %q", got.Title)
		}
	})
}

// New and changed synonyms apply to all passages.
func TestFolder_SynonymsThatChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, root := onDisk(t, garden())
		defer f.Close()
		for _, tt := range []struct{ lists, word, want string }{
			{"", "blackfly", ""}, {"greenfly, blackfly\n", "blackfly", "Roses - Greenfly"}, {"greenfly, whitefly\n", "blackfly", ""}, {"greenfly, whitefly\n", "whitefly", "Roses - Greenfly"},
		} {
			write(t, filepath.Join(root, "synonyms.txt"), tt.lists)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if got := first(t, f, tt.word); got.Title != tt.want {
				t.Errorf("%q with %q: got %q, want %q", tt.word, tt.lists, got.Title, tt.want)
			}
		}
	})
}

// Replaced passages do not accumulate.
func TestFolder_ManyChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := make(fstest.MapFS)
		for n := range 400 {
			files[fmt.Sprintf("p%d.md", n)] = &fstest.MapFile{Data: fmt.Appendf(nil, "# Page %d\n\nspecial%d", n, n)}
		}
		f, root := onDisk(t, files)
		defer f.Close()
		for range 5 {
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			for name := range files {
				if err := os.Chtimes(filepath.Join(root, name), time.Now(), time.Now()); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		results, err := f.Search(t.Context(), knowledge.Query{Text: "special399"}, 5)
		if err != nil || len(results.Results) != 1 || results.Results[0].Title != "Page 399" {
			t.Errorf("got %v, %v", results, err)
		}
		if p := f.Progress(); p.Done != 400 || p.Files != 400 {
			t.Errorf("progress %+v", p)
		}
	})
}

func TestOpen_NoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.md")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), file} {
		_, err := knowledge.Open(knowledge.Config{Name: "a", Files: knowledge.Dir(path), Path: path})
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

// A closing folder refuses to open some of its files.
type closing struct {
	changing

	closed map[string]bool
}

func (c *closing) close(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = make(map[string]bool)
	for _, name := range names {
		c.closed[name] = true
	}
}

func (c *closing) Open(name string) (fs.File, error) {
	c.mu.Lock()
	closed := c.closed[name]
	c.mu.Unlock()
	if closed {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.changing.Open(name)
}

// A file that cannot be read at present is read as soon as it can be, though nothing of it changes; what was read
// of it before answers until then.
func TestFolder_FileWithoutAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := &closing{changing: changing{files: garden()}}
		files.close("roses.md")
		f, err := knowledge.Open(knowledge.Config{Name: "garden", Files: files, Path: "garden"})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		wants := func(when, question, text, unread string) {
			t.Helper()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			why := ""
			for _, u := range f.Status().Unread {
				if u.File == "roses.md" {
					why = u.Why
				}
			}
			if got := first(t, f, question); !strings.Contains(got.Content, text) || (text == "") != (got.Content == "") || why != unread {
				t.Errorf("%s: got %q, want %q; unread: %q, want %q", when, got.Content, text, why, unread)
			}
		}
		wants("closed at first", "when to prune roses", "", "permission denied")
		files.close()
		wants("access is given", "when to prune roses", "early spring", "")
		changed := garden()
		changed["roses.md"] = &fstest.MapFile{Data: []byte("# Roses\n\nPrune roses when the forsythia blooms."), ModTime: time.Now()}
		files.close("roses.md")
		files.set(changed)
		wants("changed without access", "when to prune roses", "early spring", "permission denied")
		files.close()
		wants("access is given again", "when to prune roses", "forsythia", "")
		files.close("roses.md")
		touched := garden()
		touched["roses.md"] = &fstest.MapFile{Data: changed["roses.md"].Data, ModTime: time.Now()}
		files.set(touched)
		wants("closed again", "when to prune roses", "forsythia", "permission denied")
		gone := garden()
		delete(gone, "roses.md")
		files.set(gone)
		wants("removed", "when to prune roses", "", "")
	})
}
