package lastwords_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"molar/mcpclients/lastwords"
)

// FuzzWhy checks that no output breaks the search for its telling line, and that a reason is one short
// line.
func FuzzWhy(f *testing.F) {
	f.Add("TypeError: fetch failed\n    at x\n  [cause]: Error: no {\n")
	f.Add("Traceback (most recent call last):\n  File \"a\", line 1\nKeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n")
	f.Add("ZodError: [\n{\"message\":\"x\",\"path\":[1,\"y\"]}\n]")
	f.Add("\x1b[31mpanic: \x1b]0;t\x1b\\ {\n[\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := lastwords.NewRecord([]string{"sesame-open"})
		_, _ = r.Write([]byte(text))
		lines := r.Lines()
		why, _ := lastwords.Why(lines)
		if len(why) > 400 || strings.ContainsAny(why, "\n\r\x1b") || !utf8.ValidString(why) || strings.Contains(why, "sesame-open") {
			t.Errorf("%q", why)
		}
		if n := len(lastwords.Excerpt(lines, 3)); n > 3 {
			t.Errorf("%d lines", n)
		}
	})
}

func BenchmarkWhy(b *testing.B) {
	text := "Error: no key\n" + strings.Repeat("    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)\n", 20)
	lines := strings.Split(text, "\n")
	for b.Loop() {
		lastwords.Why(lines)
	}
}

func BenchmarkWhy_OfAllThatIsKept(b *testing.B) {
	r := lastwords.NewRecord(nil)
	for range 2000 {
		_, _ = r.Write([]byte("2026-11-29T10:00:00Z INFO a request was served to somebody in 12 ms\n"))
	}
	lines := r.Lines()
	for b.Loop() {
		lastwords.Why(lines)
	}
}
