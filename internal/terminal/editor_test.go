package terminal_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"molar/internal/terminal"
)

func size() (columns, rows int) { return 20, 10 }

// keysOf decodes what a terminal sends, cut into pieces of n bytes.
func keysOf(t *testing.T, input string, n int) []terminal.Key {
	t.Helper()
	var keys []terminal.Key
	err := terminal.ReadKeys(&pieces{input, n}, func(k terminal.Key) bool { keys = append(keys, k); return true })
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// pieces is a reader of at most n bytes at a time.
type pieces struct {
	text string
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	n, err := strings.NewReader(p.text).Read(b[:min(p.n, len(b))])
	p.text = p.text[n:]
	return n, err
}

func TestReadKeys(t *testing.T) {
	const input = "ră\x1b[A\x1bOB\x1b[1;5C\x1b[3~\r\x1b\r\x03\x04\x1b[200~a\r\nb\x1b[31mc\x1b[201~\x1b[99;99Qx\x7f\x1bb\u009bz"
	want := []terminal.Key{
		{terminal.KeyRune, "r"},
		{terminal.KeyRune, "ă"},
		{Code: terminal.KeyUp},
		{Code: terminal.KeyDown},
		{Code: terminal.KeyWordRight},
		{Code: terminal.KeyDelete},
		{Code: terminal.KeyEnter},
		{Code: terminal.KeyNewline},
		{Code: terminal.KeyInterrupt},
		{Code: terminal.KeyEOF},
		{terminal.KeyPaste, "a\nbc"},
		{terminal.KeyRune, "x"},
		{Code: terminal.KeyBackspace},
		{Code: terminal.KeyWordLeft},
		{terminal.KeyRune, "z"},
	}
	for _, n := range []int{1, 3, 1000} {
		if diff := cmp.Diff(want, keysOf(t, input, n)); diff != "" {
			t.Errorf("%d bytes at a time (-want +got)\n%s", n, diff)
		}
	}
}

func TestEditor(t *testing.T) {
	tests := map[string]struct{ typed, want string }{
		"characters":               {"răng", "răng"},
		"backspace":                {"abc\x7f\x7f", "a"},
		"in the middle":            {"ac\x1b[Db", "abc"},
		"home and end":             {"b\x01a\x05c", "abc"},
		"kill to the left":         {"one two\x15three", "three"},
		"kill to the right":        {"one\x01\x0btwo", "two"},
		"kill a word":              {"one two \x17", "one "},
		"by words":                 {"one two\x1bbX\x1bfY", "one XtwoY"},
		"delete":                   {"abc\x01\x1b[3~\x04", "c"},
		"a line that goes on":      {"one\\\rtwo", "one\ntwo"},
		"a new line":               {"one\ntwo", "one\ntwo"},
		"up within the text":       {"one\ntwo\x1b[AX", "oneX\ntwo"},
		"down within the text":     {"one\ntwo\x1b[A\x1b[BX", "one\ntwoX"},
		"history":                  {"\x1b[A", "newest"},
		"further back":             {"\x1b[A\x1b[A", "older"},
		"not beyond its end":       {"\x1b[A\x1b[A\x1b[A\x1b[A", "older"},
		"and back to the draft":    {"draft\x1b[A\x1b[B", "draft"},
		"by words and signs":       {"go src/main.go\x17\x17X", "go src/mainX"},
		"back what was killed":     {"one two\x17three \x19", "one three two"},
		"undo a word":              {"one two\x1f", "one "},
		"undo a kill":              {"one two\x15\x1f", "one two"},
		"undo a paste":             {"a\x1b[200~b\x1b[201~\x1f", "a"},
		"kill the next word":       {"one two\x01\x1bd", " two"},
		"kill all lines above":     {"one\ntwo\nthree\x15\x15four", "four"},
		"shift and enter":          {"one\x1b[13;2utwo\x1b[27;2;13~three", "one\ntwo\nthree"},
		"of another alphabet":      {"one two\x1b[1094::119;5u", "one "},
		"reported keys":            {"one two\x1b[119;5uX\x1b[98;3uY", "one YX"},
		"composed characters":      {"ae\u0323\u0302b👩\u200d💻\x7f\x7f\x7f", "a"},
		"over composed characters": {"ae\u0323\u0302b\x1b[D\x1b[DX", "aXe\u0323\u0302b"},
		"completion of one":        {"/he\t", "/help"},
		"completion of the first":  {"/re\t", "/resume"},
		"completion of nothing":    {"x/re\t", "x/re"},
		"control keys are no text": {"a\x00\x1b[99~b", "ab"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			history, err := terminal.OpenHistory("")
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"older", "newest", "newest", ""} {
				if err := history.Add(text); err != nil {
					t.Fatal(err)
				}
			}
			e := terminal.NewEditor(&strings.Builder{}, size, history, commands)
			for _, key := range keysOf(t, test.typed, 100) {
				if event := e.Key(key); event != terminal.Edited {
					t.Fatalf("event %d", event)
				}
			}
			if got := e.Text(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// commands proposes commands, and the files of a folder after "@".
func commands(before string) terminal.Proposals {
	start := strings.LastIndex(before, " ") + 1
	switch word := before[start:]; {
	case strings.HasPrefix(word, "/") && start == 0:
		return terminal.Proposals{All: []terminal.Proposal{
			{Text: "/help", Note: "lists all", Whole: true},
			{Text: "/resume", Note: "an earlier one", Whole: true},
			{Text: "/rescue", Whole: true},
			{Text: "/model ", Note: "Mô hình 漢字漢字漢字漢字"},
		}}
	case before == "/model "+word:
		return terminal.Proposals{Start: start, Free: true, All: []terminal.Proposal{{Text: "qwen", Whole: true}, {Text: "llama", Whole: true}}}
	case strings.HasPrefix(word, "@"):
		var all []terminal.Proposal
		for i := range 12 {
			all = append(all, terminal.Proposal{Text: fmt.Sprintf("@file%02d ", i)})
		}
		return terminal.Proposals{Start: start, All: all}
	}
	return terminal.Proposals{}
}

func TestEditor_Events(t *testing.T) {
	e := terminal.NewEditor(&strings.Builder{}, size, nil, nil)
	for _, step := range []struct {
		typed string
		want  terminal.Event
		left  string
	}{
		{"\x04", terminal.Ended, ""},
		{"a", terminal.Edited, "a"},
		{"\x04", terminal.Edited, "a"},
		{"\x03", terminal.Interrupted, ""},
		{"b", terminal.Edited, "b"},
		{"\r", terminal.Submitted, "b"},
	} {
		if got := e.Key(keysOf(t, step.typed, 10)[0]); got != step.want || e.Text() != step.left {
			t.Errorf("%q: event %d, text %q", step.typed, got, e.Text())
		}
	}
	if got := e.Take(); got != "b" || e.Text() != "" {
		t.Errorf("took %q and left %q", got, e.Text())
	}
}

// TestEditor_Paint: what stands on the screen is the text and nothing of earlier
// paintings, whatever its width and wherever the cursor is.
func TestEditor_Paint(t *testing.T) {
	var out strings.Builder
	e := terminal.NewEditor(&out, size, nil, nil)
	e.SetPrompt("> ")
	for _, key := range keysOf(t, "Đánh răng hai lần mỗi ngày\n漢字漢字漢字漢字漢字x\x1b[D\x1b[D\x7f\x1b[A\x1b[H!", 100) {
		e.Key(key)
		if err := e.Paint(); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Leave(); err != nil {
		t.Fatal(err)
	}
	want := []string{"> !Đánh răng hai lầ", "n mỗi ngày", "… 漢字漢字漢字漢字", "字x", ""}
	if diff := cmp.Diff(want, play(out.String())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// play is what stands on a screen after an editor has written: cells of one column,
// the second of a wide character empty.
func play(output string) []string {
	cells, x, y := [][]string{nil}, 0, 0
	for output != "" {
		if rest, ok := strings.CutPrefix(output, "\x1b["); ok {
			n := 0
			for rest[0] >= '0' && rest[0] <= '9' {
				n = 10*n + int(rest[0]-'0')
				rest = rest[1:]
			}
			rest = strings.TrimLeft(rest, ";0123456789") // further styles
			switch rest[0] {
			case 'A':
				y -= n
			case 'C':
				x += n
			case 'J':
				cells = cells[:y+1]
				cells[y] = cells[y][:min(x, len(cells[y]))]
			}
			output = rest[1:]
			continue
		}
		r, length := utf8.DecodeRuneInString(output)
		output = output[length:]
		switch r {
		case '\r':
			x = 0
		case '\n':
			if y++; y == len(cells) {
				cells = append(cells, nil)
			}
		default:
			for len(cells[y]) < x+terminal.Width(string(r)) {
				cells[y] = append(cells[y], "")
			}
			cells[y][x] = string(r)
			x += terminal.Width(string(r))
		}
	}
	var lines []string
	for _, line := range cells {
		lines = append(lines, strings.Join(line, ""))
	}
	return lines
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "history")
	a, err := terminal.OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two\nlines", "evil\x1b[2J"} {
		if err := a.Add(text); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	b, err := terminal.OpenHistory(path)
	if err != nil || b.Len() != 3 || b.Last(1) != "evil" || b.Last(2) != "two\nlines" {
		t.Errorf("%v, %d entries", err, b.Len())
	}
	for range 2500 {
		_ = a.Add("x")
		_ = a.Add("y")
	}
	if b, err = terminal.OpenHistory(path); err != nil || b.Len() != 1000 {
		t.Errorf("%v, %d entries", err, b.Len())
	}
	if data, err := os.ReadFile(path); err != nil || strings.Count(string(data), "\n") != 1000 {
		t.Errorf("the file was not cut: %v", err)
	}
	if h, err := terminal.OpenHistory(filepath.Join(path, "no")); err == nil || h.Add("kept in memory") != nil || h.Len() != 1 {
		t.Errorf("a folder that cannot be: %v", err)
	}
}

func TestPlain(t *testing.T) {
	var out strings.Builder
	w := terminal.Plain(&out)
	if _, err := w.Write([]byte("\x1b[1;36mbold\x1b[0m\x1b[3A\x1b[Jx")); err != nil || out.String() != "bold\x1b[3A\x1b[Jx" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestWrap(t *testing.T) {
	if diff := cmp.Diff([]string{"  one two", "  three"}, terminal.Wrap("  one two three", 12)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// FuzzReadKeys: no input makes it stop early, or hands a control character over.
func FuzzReadKeys(f *testing.F) {
	f.Add("abc\x1b[A\x1b[200~x\x1b[201~")
	f.Add("\x1b[200~never ended")
	f.Add("\x1b\x1b\x1b[")
	f.Fuzz(func(t *testing.T, input string) {
		e := terminal.NewEditor(&strings.Builder{}, size, nil, nil)
		for _, key := range keysOf(t, input, 7) {
			if key.Text != terminal.Clean(key.Text) {
				t.Fatalf("%q handed %q over", input, key.Text)
			}
			e.Key(key)
			if err := e.Paint(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// BenchmarkFirstText prints the first piece of an answer.
func BenchmarkFirstText(b *testing.B) {
	var out strings.Builder
	for b.Loop() {
		out.Reset()
		m := terminal.NewMarkdown(&out, size)
		if err := m.Write("Brush **twice** a"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLongBlock adds a word to a paragraph of 400 words.
func BenchmarkLongBlock(b *testing.B) {
	var out strings.Builder
	long := strings.Repeat("word ", 400)
	for b.Loop() {
		out.Reset()
		m := terminal.NewMarkdown(&out, func() (int, int) { return 80, 40 })
		_ = m.Write(long)
		_ = m.Write("more ")
	}
}

// A long paste is one mark in the line, and whole when the text is taken.
func TestEditor_FoldsPastes(t *testing.T) {
	long := strings.Repeat("a line\n", 120)
	e := terminal.NewEditor(io.Discard, func() (int, int) { return 80, 24 }, nil, nil)
	for _, k := range []terminal.Key{{Text: "see "}, {Code: terminal.KeyPaste, Text: long}, {Text: " and "}, {Code: terminal.KeyPaste, Text: "b\nc"}} {
		e.Key(k)
	}
	if got := e.Text(); got != "see [paste 1: 120 lines] and b\nc" {
		t.Errorf("the line is %q", got)
	}
	if got := e.Take(); got != "see "+long+" and b\nc" {
		t.Errorf("taken: %d bytes", len(got))
	}
}

// An escape that nothing follows is a key; one that begins a sequence is not.
func TestReadKeys_Escape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		var got []terminal.KeyCode
		read := make(chan error)
		go func() {
			read <- terminal.ReadKeys(r, func(k terminal.Key) bool { got = append(got, k.Code); return true })
		}()
		for _, piece := range []string{"\x1b", "[A", "\x1b"} {
			if _, err := io.WriteString(w, piece); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		_, _ = io.WriteString(w, "x")
		_ = w.Close()
		if err := <-read; err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]terminal.KeyCode{terminal.KeyUp, terminal.KeyEscape, terminal.KeyRune}, got); diff != "" {
			t.Error(diff)
		}
	})
}
