package terminal_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/terminal"
)

// TestEditor_Search: Ctrl-R walks back to the texts that hold what is typed.
func TestEditor_Search(t *testing.T) {
	tests := map[string]struct{ typed, want, screen string }{
		"the newest":             {"\x12brush", "brush twice", `search "brush": brush twice`},
		"whatever the case":      {"\x12BLUE", "A blue brush", ""},
		"the one before":         {"\x12brush\x12", "A blue brush", ""},
		"no further":             {"\x12brush\x12\x12", "A blue brush", `not found "brush": A blue brush`},
		"a longer query":         {"\x12b\x12l", "A blue brush", ""},
		"and a shorter one":      {"\x12blu\x7f\x7f", "brush twice", ""},
		"nothing holds it":       {"draft\x12zz", "draft", `not found "zz": draft`},
		"nothing to search yet":  {"draft\x12", "draft", `search "": draft`},
		"Ctrl-C goes back":       {"draft\x12brush\x03", "draft", "> draft"},
		"Ctrl-G goes back":       {"draft\x12brush\x07", "draft", "> draft"},
		"Ctrl-D goes back":       {"\x12brush\x04", "", "> "},
		"a key edits what it is": {"\x12twice\x1b[D!", "brush twic!e", "> brush twic!e"},
		"up goes on from there":  {"\x12twice\x1b[A", "A blue brush", ""},
		"down comes back":        {"draft\x12twice\x1b[B", "draft", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			history, err := terminal.OpenHistory("")
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"A blue brush", "brush twice"} {
				if err := history.Add(text); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			e := terminal.NewEditor(&out, func() (int, int) { return 60, 10 }, history, nil)
			e.SetPrompt("> ")
			for _, key := range keysOf(t, test.typed, 100) {
				if event := e.Key(key); event != terminal.Edited {
					t.Fatalf("event %d", event)
				}
				if err := e.Paint(); err != nil {
					t.Fatal(err)
				}
			}
			if got := e.Text(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if diff := cmp.Diff([]string{test.screen}, play(out.String())); test.screen != "" && diff != "" {
				t.Errorf("the screen (-want +got)\n%s", diff)
			}
		})
	}
	e := terminal.NewEditor(&strings.Builder{}, size, nil, nil)
	for _, key := range keysOf(t, "\x12a", 100) {
		e.Key(key)
	}
	if e.Text() != "a" {
		t.Errorf("without a history: %q", e.Text())
	}
}

// TestEditor_Resize: a window that becomes narrower breaks what was painted; the next
// painting goes to its first row all the same.
func TestEditor_Resize(t *testing.T) {
	var out strings.Builder
	columns := 40
	e := terminal.NewEditor(&out, func() (int, int) { return columns, 10 }, nil, nil)
	e.SetPrompt("> ")
	e.SetText("one line of thirty-seven characters x\nsecond")
	paint := func() string {
		t.Helper()
		out.Reset()
		if err := e.Paint(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	paint()
	for _, step := range []struct {
		columns int
		start   string
	}{
		{20, "\x1b[2A\r\x1b[J"}, // 39 columns are two rows of 20
		{40, "\x1b[3A\r\x1b[J"}, // four rows of 20, none of them broken any more
		{10, "\x1b[4A\r\x1b[J"}, // and four of 10
	} {
		columns = step.columns
		if got := paint(); !strings.HasPrefix(got, step.start) {
			t.Errorf("%d columns: begins with %q, want %q", step.columns, got[:min(12, len(got))], step.start)
		}
	}
}

// TestMarkdown_Resize: the same of an open part of an answer.
func TestMarkdown_Resize(t *testing.T) {
	var out strings.Builder
	columns := 40
	m := terminal.NewMarkdown(&out, func() (int, int) { return columns, 24 })
	if err := m.Write("a paragraph of words that takes two lines of forty columns"); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	columns = 20
	if err := m.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "\x1b[3A\r\x1b[Ja paragraph of\r\n") { // two rows each
		t.Errorf("wrote %q", got)
	}
}
