package terminal_test

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/terminal"
	"molar/internal/testkit"
)

const sample = "# Chăm sóc răng\n\nBrush **twice** a day with `fluoride`, *gently*; see [NHS](https://nhs.uk/teeth).\n\n" +
	"1. first\n2. second\n   - nested one\n\n3. third\n\n```go\nfmt.Println(\"a **b**\")\n\nx := 1\n```\n\n" +
	"| tool | what it does |\n|---|---|\n| floss | cleans between the teeth, once a day |\n| brush | cleans the rest |\n\n> quoted\n> text\n\n---\n\nEnd ![tooth](https://x.y/t.png)"

// TestMarkdown_SameHoweverItArrives: what stands on the screen at the end does not
// depend on how the text was cut.
func TestMarkdown_SameHoweverItArrives(t *testing.T) {
	for _, columns := range []int{40, 80, 200} {
		whole := shown(t, columns, 100, sample)
		for _, size := range []int{1, 2, 3, 7, 50} {
			if diff := cmp.Diff(whole, shown(t, columns, 100, cut(sample, size)...)); diff != "" {
				t.Errorf("%d columns, pieces of %d bytes (-whole +pieces):\n%s", columns, size, diff)
			}
		}
	}
}

func TestMarkdown_Shows(t *testing.T) {
	want := []string{
		"Chăm sóc răng", "",
		"Brush twice a day with fluoride,", "gently; see NHS (https://nhs.uk/teeth).", "",
		"1. first", "2. second", "   • nested one", "", "3. third", "",
		`  fmt.Println("a **b**")`, "", "  x := 1", "",
		"tool   what it does", strings.Repeat("─", 39), "floss  cleans between the teeth, once a", "       day", "brush  cleans the rest", "",
		"│ quoted", "│ text", "", strings.Repeat("─", 39), "", "End [image: tooth] (https://x.y/t.png)",
	}
	if diff := cmp.Diff(want, shown(t, 40, 100, sample)); diff != "" {
		t.Errorf("on 40 columns (-want +got):\n%s", diff)
	}
}

// TestMarkdown_TableAligned: columns stand as the table says.
func TestMarkdown_TableAligned(t *testing.T) {
	want := []string{"name    count  mid", strings.Repeat("─", 18), "răng       12   x", "a long      9  x y"}
	if diff := cmp.Diff(want, shown(t, 80, 40, "| name | count | mid |\n|:--|--:|:-:|\n| **răng** | 12 | x |\n| a long | 9 | x y |")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMarkdown_Meaning: what a page shows with boxes and marks stands as text.
func TestMarkdown_Meaning(t *testing.T) {
	want := []string{
		"• [ ] open", "• [x] done", "", `So \(a^2\,b\) and $x_1$[note], $5.`, "", `  \[`, `  a \\ b`, "  =", "  c", `  \]`, "", "[note] because it", "       is so",
	}
	const text = "- [ ] open\n- [x] done\n\nSo \\(a^2\\,b\\) and $x_1$[^note], $5.\n\n\\[\na \\\\ b\n=\nc\n\\]\n\n[^note]: because it is so"
	for _, size := range []int{1, 3, 1000} {
		if diff := cmp.Diff(want[:11], shown(t, 42, 100, cut(text, size)...)[:11]); diff != "" {
			t.Errorf("pieces of %d (-want +got):\n%s", size, diff)
		}
		if got := shown(t, 19, 100, cut(text, size)...); !slices.Equal(want[11:], got[len(got)-2:]) {
			t.Errorf("pieces of %d: the note is %q", size, got)
		}
	}
}

// TestMarkdown_Code: code has its colours, a comment of several lines too, however it
// arrives.
func TestMarkdown_Code(t *testing.T) {
	want := []string{
		"  \x1b[35mvar\x1b[0m a = \x1b[32m\"b\"\x1b[0m \x1b[2m/* one\x1b[0m", "  \x1b[2mtwo\x1b[0m", "  \x1b[2mthree */\x1b[0m + \x1b[33m1\x1b[0m", "",
		"  \x1b[36mplain var\x1b[0m",
	}
	const text = "```go\nvar a = \"b\" /* one\ntwo\nthree */ + 1\n```\n\n```\nplain var\n```\n"
	for _, size := range []int{1, 3, 1000} {
		if diff := cmp.Diff(want, on(t, &testkit.Screen{Styled: true}, 80, 100, cut(text, size)...)); diff != "" {
			t.Errorf("pieces of %d (-want +got):\n%s", size, diff)
		}
	}
}

// TestMarkdown_Pieces: what can no longer change is not set again, and the rest of its
// block stands as if it were.
func TestMarkdown_Pieces(t *testing.T) {
	for name, text := range map[string]string{
		"items of every kind":      "Items:\n- a\n- b\n  more\n\n  of b\n\n- c\n  1. x\n  2. y\n-\n- d\nlazy\n* other\n* list\n\nend",
		"numbers that all are 1":   "1. a\n1. b\n   - x\n   - y\n1. c\n\n1. d\n\n1) new\n1) two\nend",
		"numbers from 7 on":        "7. a\n8. b\n99. c",
		"items that look indented": "- a\n - b\n  - c\n- d\n   - e\n- f",
		"rules among items":        "- a\n- b\n---\n- c\n- d\n***\n- - -\n- e\n--\n- f",
		"code with empty lines":    "text\n```go\na\n\n\nb\n``\n```\nafter\n~~~\n```\nx\n~~~\n\n````\n```\n````",
		"code that never ends":     "```\na\n\nb\n",
		"code in items":            "- a\n  ```\n  x\n\n  y\n  ```\n- b\n\n  ```\n  z\n- c",
		"blocks without space":     "# one\ntext\n## two\n> quote\n> more\n# three\n|a|b|\n|-|-|\n|1|2|\n# four\nx\n===\ny\n---\nend",
		"long words and code":      strings.Repeat("- "+strings.Repeat("wort", 30)+"\n", 3) + "```\n" + strings.Repeat("漢字", 40) + "\nx\n```",
		"tasks":                    "- [ ] a\n- [x] b\n\n- [ ] c",
	} {
		t.Run(name, func(t *testing.T) {
			whole := shown(t, 30, 100, text)
			for _, size := range []int{1, 2, 5, 11} {
				if diff := cmp.Diff(whole, shown(t, 30, 100, cut(text, size)...)); diff != "" {
					t.Errorf("pieces of %d bytes (-whole +pieces):\n%s", size, diff)
				}
			}
		})
	}
}

// TestMarkdown_Cost: a long answer of any kind costs no square of its length, measured
// by what is allocated for it: a text twice as long may cost three times as much. Items
// and code may even be shown with every piece.
func TestMarkdown_Cost(t *testing.T) {
	if testing.Short() {
		t.Skip("what it measures is allocated in a run without the race detector")
	}
	for name, line := range map[string]string{
		"list":      "- **item** with `code` and words\n",
		"loose":     "1. **item** with `code` and words\n\n",
		"code":      "x := f(1, 2) // words and words\n",
		"paragraph": "name: **some** words of a line\n",
		"table":     "| some words | **more** of them |\n",
		"nested":    "  - **item** with `code`, words\n",
		"quote":     "> some **words** that are quoted\n",
	} {
		t.Run(name, func(t *testing.T) {
			before := map[string]string{"code": "```go\n", "table": "| a | b |\n|---|---|\n", "nested": "- a\n"}[name]
			every := name == "list" || name == "loose" || name == "code"
			short, long := cost(t, before+strings.Repeat(line, 100), every), cost(t, before+strings.Repeat(line, 200), every)
			t.Logf("%d kB, then %d kB", short>>10, long>>10)
			if long > 3*short {
				t.Errorf("twice the text costs %.1f times as much", float64(long)/float64(short))
			}
		})
	}
}

// cost is what showing a text in small pieces allocates, in bytes.
func cost(t *testing.T, text string, every bool) uint64 {
	t.Helper()
	m := terminal.NewMarkdown(io.Discard, func() (int, int) { return 80, 24 })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, piece := range cut(text, 6) {
		if err := m.Write(piece); err != nil {
			t.Fatal(err)
		}
		if every {
			if err := m.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMarkdown_Flush: what is held back of a long block is shown when it is asked for,
// and at the end.
func TestMarkdown_Flush(t *testing.T) {
	s := &testkit.Screen{}
	m := terminal.NewMarkdown(s, func() (int, int) { return 80, 200 })
	write := func(text string) {
		t.Helper()
		if err := m.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Repeat("word ", 1000))
	write("held back")
	if strings.Contains(strings.Join(s.Lines(), "\n"), "held") {
		t.Error("a long block is set anew for every word")
	}
	if err := m.Flush(); err != nil || !strings.Contains(strings.Join(s.Lines(), " "), "held back") {
		t.Errorf("not shown when asked for: %v", err)
	}
	write(" and the end")
	if err := m.Close(); err != nil || !strings.Contains(strings.Join(s.Lines(), " "), "held back and the end") {
		t.Errorf("not shown at the end: %v", err)
	}
}

// TestMarkdown_TallBlock: a block taller than the screen keeps its lines.
func TestMarkdown_TallBlock(t *testing.T) {
	var pieces, want []string
	for i := range 60 {
		name := "item " + string(rune('A'+i%26))
		pieces, want = append(pieces, "- "+name+"\n"), append(want, "• "+name)
	}
	if diff := cmp.Diff(want, shown(t, 80, 10, pieces...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestClean(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"plain text is kept":      {"Răng\tsữa\n", "Răng\tsữa\n"},
		"colour":                  {"a\x1b[31mred\x1b[0m", "ared"},
		"clear screen":            {"\x1b[2J\x1b[Hhi", "hi"},
		"clipboard":               {"x\x1b]52;c;aGk=\x07y", "xy"},
		"hyperlink":               {"\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "text"},
		"title never ended":       {"\x1b]0;evil\nnext", "\nnext"},
		"eight-bit CSI":           {"a\u009b31mb", "ab"},
		"eight-bit OSC":           {"a\u009d0;t\u009cb", "ab"},
		"device control":          {"\x1bP1;2q...\x1b\\z", "z"},
		"charset and reset":       {"\x1b(0\x1bcq", "q"},
		"bell and backspace":      {"a\a\bb", "ab"},
		"carriage return":         {"safe\rrm", "saferm"},
		"right to left override":  {"a\u202eb\u2066c", "abc"},
		"broken UTF-8":            {"a\xffb", "a\ufffdb"},
		"escape at the end":       {"a\x1b", "a"},
		"CSI never ended":         {"a\x1b[31", "a"},
		"emoji joiners are kept":  {"👩\u200d⚕️", "👩\u200d⚕️"},
		"line separator":          {"a\u2028b", "ab"},
		"CSI broken by a newline": {"\x1b[3\nx", "\nx"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := terminal.Clean(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31mred\x1b]8;;x\x07\u009b2J")
	f.Fuzz(func(t *testing.T, text string) {
		out := terminal.Clean(text)
		if strings.ContainsAny(out, "\x1b\u009b\u009d\x07\r") {
			t.Errorf("%q leaves %q", text, out)
		}
		if again := terminal.Clean(out); again != out {
			t.Errorf("%q: not the same twice: %q, %q", text, out, again)
		}
	})
}

func FuzzMarkdown(f *testing.F) {
	f.Add(sample, 3)
	f.Add("- a\n\n  b\n- c\n\n\n```\nx", 1)
	f.Add("|a|b|\n|-|-|\n|c", 2)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if len(text) > 300 {
			return
		}
		var out strings.Builder
		m := terminal.NewMarkdown(&out, func() (int, int) { return 30, 10 })
		for n := max(size, 1); text != ""; {
			n = min(n, len(text))
			if err := m.Write(text[:n]); err != nil {
				t.Fatal(err)
			}
			text = text[n:]
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkLongList renders an answer of 38 KB that arrives in pieces of 6 bytes.
func BenchmarkLongList(b *testing.B) {
	pieces := cut(strings.Repeat("- **item** with `code` and words\n", 1150), 6)
	for b.Loop() {
		m := terminal.NewMarkdown(io.Discard, func() (int, int) { return 80, 24 })
		for _, piece := range pieces {
			_ = m.Write(piece)
		}
	}
}

// cut cuts a text into pieces of size bytes, and never a character.
func cut(text string, size int) []string {
	var pieces []string
	for text != "" {
		n := min(size, len(text))
		for n < len(text) && text[n]&0xc0 == 0x80 {
			n++
		}
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// shown is what stands on a terminal after the pieces, without styles.
func shown(t *testing.T, columns, rows int, pieces ...string) []string {
	t.Helper()
	return on(t, &testkit.Screen{}, columns, rows, pieces...)
}

// on shows the pieces on a screen and returns its lines.
func on(t *testing.T, s *testkit.Screen, columns, rows int, pieces ...string) []string {
	t.Helper()
	m := terminal.NewMarkdown(s, func() (int, int) { return columns, rows })
	for _, p := range pieces {
		if err := m.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return s.Lines()[:len(s.Lines())-1]
}

// An address is always visible, and leads to itself on every line that it is broken into. One that could
// hide something leads nowhere.
func TestMarkdown_Links(t *testing.T) {
	shown := func(text string) (styled, plain string) {
		var out, bare strings.Builder
		m := terminal.NewMarkdown(&out, func() (int, int) { return 30, 40 })
		if err := errors.Join(m.Write(text), m.Close()); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(terminal.Plain(&bare), out.String())
		return out.String(), bare.String()
	}
	const begin, end = "\x1b]8;;https://example.org/a/long/address/of/a/page\x1b\\", "\x1b]8;;\x1b\\"
	styled, plain := shown("see [the page](https://example.org/a/long/address/of/a/page).")
	if strings.Count(styled, begin) != 2 || strings.Count(styled, end) != 2 {
		t.Errorf("%q", styled)
	}
	if want := "see the page\r\n(https://example.org/a/long/a\r\nddress/of/a/page).\r\n"; plain != want {
		t.Errorf("%q, want %q", plain, want)
	}
	for _, address := range []string{"javascript:alert(1)", "https://exämple.org", "file:///etc/passwd", "mailto:a@example.org"} {
		if styled, _ := shown("[x](" + address + ")"); strings.Contains(styled, "\x1b]") {
			t.Errorf("%s: %q", address, styled)
		}
	}
}
