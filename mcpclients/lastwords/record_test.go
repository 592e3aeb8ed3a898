package lastwords_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/mcpclients/lastwords"
)

// size returns how many bytes lines take.
func size(lines []string) int { return len(strings.Join(lines, "\n")) }

func TestRecord_KeepsBothEnds(t *testing.T) {
	r := lastwords.NewRecord(nil)
	_, _ = fmt.Fprintln(r, "Error: the first words tell")
	for i := range 20_000 {
		_, _ = fmt.Fprintf(r, "line %d of what comes between\r\n\n", i)
	}
	_, _ = fmt.Fprint(r, "the end")
	lines := r.Lines()
	if size(lines) > 64<<10 || len(lines) < 500 {
		t.Errorf("%d lines, %d bytes", len(lines), size(lines))
	}
	if lines[0] != "Error: the first words tell" || lines[len(lines)-1] != "the end" || !strings.Contains(strings.Join(lines, "\n"), " more lines …]") {
		t.Errorf("%q … %q", lines[:2], lines[len(lines)-2:])
	}
	if diff := cmp.Diff([]string{"line 19999 of what comes between", "the end"}, r.Last(2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A minified source line must not displace the error below it.
func TestRecord_ALongLineTakesLittleRoom(t *testing.T) {
	r := lastwords.NewRecord(nil)
	_, _ = fmt.Fprintf(r, "/srv/index.js:1\n%s\n%s^\n\nError: no key\n    at x (/srv/index.js:1:1)\n", strings.Repeat("var a;", 1<<20), strings.Repeat(" ", 1<<20))
	for range 100 {
		_, _ = fmt.Fprintf(r, "  dump: '%s',\n", strings.Repeat("x", 10_000))
	}
	if why, _ := lastwords.Why(r.Lines()); why != "Error: no key" {
		t.Errorf("got %q", why)
	}
	if got := size(r.Lines()); got > 64<<10 {
		t.Errorf("%d bytes", got)
	}
}

func TestRecord_HidesSecretsAndControlCharacters(t *testing.T) {
	const secret = "sesame-open-0123456789"
	for _, tc := range []struct{ name, text, want string }{
		{"plain", "using sesame-open-0123456789 now", "using *** now"},
		{"coloured", "\x1b[1;31musing\x1b[0m sesame-\x1b[1mopen-0123456789\x07 now\x1b]0;title\x07", "using *** now"},
		{"at the cut of a kept line", strings.Repeat("x", 1014) + secret, ""},
		{"at the cut of a read line", strings.Repeat(secret+" ", 500), ""},
		{"several lines", "the key is -----BEGIN\nMIIE-abcdef\n-----END", "the key is ***\n***\n***"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := lastwords.NewRecord([]string{secret, "-----BEGIN\nMIIE-abcdef\n-----END", "abc"})
			_, _ = fmt.Fprintln(r, tc.text)
			got := strings.Join(r.Lines(), "\n")
			if strings.Contains(got, "sesame") || tc.want != "" && got != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestRecord_Since(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := lastwords.NewRecord(nil)
		_, _ = fmt.Fprintln(r, "Error: a call of an hour ago")
		time.Sleep(time.Hour)
		from := time.Now()
		_, _ = fmt.Fprintln(r, "Error: the end")
		if diff := cmp.Diff([]string{"Error: the end"}, r.Since(from)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestExcerpt(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"an error, its notes and its cause", "hello\nTypeError: fetch failed\n    at x (y.js:1:1)\n    at z (y.js:1:1) {\n  [cause]: Error: bad port\n      at q (y.js:1:1)\n  code: 'X',\n}\nNode.js v20.1.1", []string{"TypeError: fetch failed", "[cause]: Error: bad port"}},
		{"no error", "one\ntwo\nthree\nfour\n}", []string{"two", "three", "four"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lastwords.Excerpt(strings.Split(tc.text, "\n"), 3)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
