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
