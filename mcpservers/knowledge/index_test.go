package knowledge

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"
)

func TestLexicon(t *testing.T) {
	l := newLexicon()
	for i := range 1000 {
		if n, known := l.add(fmt.Sprint("word", i)); known || n != uint32(i) {
			t.Fatalf("word %d: got %d, %v", i, n, known)
		}
	}
	if n, known := l.add(""); known || n != 1000 {
		t.Errorf("the empty word: got %d, %v", n, known)
	}
	for i := range 1000 {
		word := fmt.Sprint("word", i)
		if n, known := l.number(word); !known || n != uint32(i) || l.at(n) != word {
			t.Errorf("%s: got %d, %v", word, n, known)
		}
	}
	if _, known := l.number("wordless"); known {
		t.Error("knows a word that nobody added")
	}
}

func TestPostings(t *testing.T) {
	var p postings
	type posting struct {
		passage uint32
		times   float64
	}
	want := []posting{{0, 1}, {1, 3}, {200, 1}, {100_000, 255}, {100_001, 255}}
	for _, w := range want {
		p.add(w.passage, int(w.times))
	}
	p.add(200_000, 1000)
	want = append(want, posting{200_000, 255})
	var got []posting
	for passage, times := range p.all() {
		got = append(got, posting{passage, times})
	}
	if !slices.Equal(got, want) || p.len() != len(want) {
		t.Errorf("got %v (%d), want %v", got, p.len(), want)
	}
}

// A passage comes back with all its fields, from an open block and from compressed ones.
func TestStore(t *testing.T) {
	fields := reflect.TypeFor[passage]().NumField()
	if kept := len((&passage{}).texts()) + len((&passage{}).numbers()); kept+2 != fields { // the index knows the file and the part
		t.Errorf("%d fields are kept of a passage with %d", kept, fields)
	}
	var s store
	at := func(i int) passage {
		return passage{
			title: fmt.Sprint("title", i), heading: "heading", anchor: "anchor", line: i, last: 3 * i, page: 2 * i, sheet: "sheet",
			text: fmt.Sprint("text ", i*i*i), keywords: "keywords", source: "source",
		}
	}
	const many = 2000
	for i := range many {
		s.add(at(i))
	}
	if len(s.blocks) < 2 {
		t.Fatalf("%d blocks show nothing", len(s.blocks))
	}
	for i := range many {
		if got := s.at(uint32(i)); got != at(i) {
			t.Fatalf("passage %d: got %+v", i, got)
		}
	}
}

// An index is learned alike from the same files, and anew only when much of it has changed.
func TestThreshold_IsLearned(t *testing.T) {
	var before threshold
	for range 3 {
		ix := newIndex(newVocabulary(nil, nil))
		for n := range 40 {
			name := fmt.Sprintf("%d.md", n)
			_, passages := cut(name, string(plainText(n+1, 8000)[fmt.Sprintf("d%d/p%d.md", n, n)].Data))
			ix.put(name, passages)
		}
		ix.settle()
		if before.learned && ix.least != before {
			t.Errorf("got %+v, and before %+v", ix.least, before)
		}
		before = ix.least
		_, more := cut("one.md", "# One more\n\nIt changes little.")
		ix.put("one.md", more)
		if ix.least.isDue(ix.live) {
			t.Error("one more file lets all be learned anew")
		}
		ix.put("0.md", nil)
		if !ix.least.isDue(2*ix.live) || !before.learned || before.strength <= 0 {
			t.Errorf("got %+v", before)
		}
	}
}

// A folder says what its threshold is, and whether it was learned.
func TestFolder_threshold(t *testing.T) {
	set := 0.4
	for _, tt := range []struct {
		threshold *float64
		learned   bool
	}{{nil, true}, {&set, false}} {
		f, err := Open(Config{Name: "plain", Files: plainText(5, 20_000), Path: "plain", Threshold: tt.threshold})
		if err != nil {
			t.Fatal(err)
		}
		<-f.ready
		s := f.Status()
		value, learned := s.Threshold, s.Learned
		f.Close()
		if learned != tt.learned || value <= 0 || value > 1 || tt.threshold != nil && value != set {
			t.Errorf("got %v, learned %v", value, learned)
		}
	}
}

// An index takes less memory than twice the text, and holds no text of the files beside it.
func TestIndex_Memory(t *testing.T) {
	const size = 20 << 20
	files := plainText(4000, size)
	used := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := used()
	f, err := Open(Config{Name: "x", Files: files, Path: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	<-f.ready
	if took := used() - before; took > 2*size {
		t.Errorf("%d MiB of text take %d MiB", size>>20, took>>20)
	} else {
		t.Logf("%d MiB of text take %.1f MiB", size>>20, float64(took)/(1<<20))
	}
	runtime.KeepAlive(files)
}
