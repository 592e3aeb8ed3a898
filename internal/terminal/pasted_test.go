package terminal_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/terminal"
)

// The editor tells what was put into it at once, until it is empty or its text is taken.
func TestEditor_Pasted(t *testing.T) {
	long := strings.Repeat("a letter ", 60)
	paste := terminal.Key{Code: terminal.KeyPaste, Text: long}
	tests := map[string]struct {
		keys []terminal.Key
		want []string
	}{
		"typed":                 {[]terminal.Key{{Text: "hello"}}, nil},
		"pasted":                {[]terminal.Key{{Text: "see "}, paste}, []string{long}},
		"pasted and changed":    {[]terminal.Key{paste, {Code: terminal.KeyBackspace}}, []string{long}},
		"pasted and taken away": {[]terminal.Key{paste, {Code: terminal.KeyKillLeft}, {Text: "hello"}}, nil},
		"interrupted":           {[]terminal.Key{paste, {Code: terminal.KeyInterrupt}, {Text: "hello"}}, nil},
		"out of the history":    {[]terminal.Key{{Code: terminal.KeyUp}}, []string{"earlier"}},
		"back to the draft":     {[]terminal.Key{{Text: "draft"}, {Code: terminal.KeyUp}, {Code: terminal.KeyDown}}, nil},
	}
	for name, tt := range tests {
		past, err := terminal.OpenHistory("")
		if err == nil {
			err = past.Add("earlier")
		}
		if err != nil {
			t.Fatal(err)
		}
		e := terminal.NewEditor(io.Discard, func() (columns, rows int) { return 80, 24 }, past, nil)
		for _, k := range tt.keys {
			e.Key(k)
		}
		if diff := cmp.Diff(tt.want, e.Pasted()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if e.Take(); len(e.Pasted()) > 0 {
			t.Errorf("%s: taken, it still has %q", name, e.Pasted())
		}
	}
}

// A long text out of the history is folded like the paste that it was, and a second Ctrl-U empties
// what has several lines.
func TestEditor_FoldsRecalled(t *testing.T) {
	long := strings.Repeat("a line\n", 200) + "the end"
	past, err := terminal.OpenHistory("")
	if err == nil {
		err = past.Add(long)
	}
	if err == nil {
		err = past.Add("one\ntwo\nthree")
	}
	if err != nil {
		t.Fatal(err)
	}
	e := terminal.NewEditor(io.Discard, func() (columns, rows int) { return 80, 24 }, past, nil)
	up, down, clear := terminal.Key{Code: terminal.KeyUp}, terminal.Key{Code: terminal.KeyDown}, terminal.Key{Code: terminal.KeyKillLeft}
	press := func(keys ...terminal.Key) {
		for _, k := range keys {
			e.Key(k)
		}
	}
	press(up, up, up, up)
	for range 2 {
		if got := e.Text(); got != "[paste 1: 201 lines]" {
			t.Errorf("recalled %q", got)
		}
		press(down, up, up, up)
	}
	press(terminal.Key{Text: "!"})
	if diff := cmp.Diff([]string{long}, e.Pasted()); diff != "" {
		t.Error(diff)
	}
	if got := e.Take(); got != long+"!" {
		t.Errorf("taken %d bytes", len(got))
	}
	press(up, up, up, up, terminal.Key{Code: terminal.KeyBackspace}, terminal.Key{Text: "/"})
	if got := e.Take(); got != "/" {
		t.Errorf("a mark is one character: %q", got)
	}
	press(up, clear, clear, terminal.Key{Text: "/help"})
	if got := e.Take(); got != "/help" {
		t.Errorf("behind two Ctrl-U: %q", got)
	}
	press(up, clear, clear, terminal.Key{Code: terminal.KeyYank})
	if diff := cmp.Diff([]string{"one\ntwo\nthree"}, e.Pasted()); diff != "" {
		t.Errorf("put back: %s", diff)
	}
}
