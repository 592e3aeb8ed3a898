package markdown_test

import (
	"strings"
	"testing"

	"molar/internal/markdown"
)

func TestSplit(t *testing.T) {
	tests := map[string]struct{ closed, open string }{
		"one paragraph":                  {"", "some text"},
		"a line end alone":               {"", "some text\n"},
		"an empty line alone":            {"", "some text\n\n"},
		"two paragraphs":                 {"one\n\n", "two"},
		"the last boundary counts":       {"one\n\ntwo\n\n", "three\n"},
		"a fence hides empty lines":      {"", "```go\na\n\nb"},
		"a closed fence does not":        {"```go\na\n\nb\n```\n\n", "text"},
		"a longer fence needs its own":   {"", "````\n```\n\nx"},
		"tildes":                         {"", "~~~\n\n```\n\nx"},
		"a fence inside of code":         {"", "```\n# a\n    ```\n\n# b"},
		"a fence behind a mark":          {"1. ```\n   a\n   ```\n\n```\nb\n```\n\n", "c"},
		"and one below a mark":           {"1. a\n\n    ```\n    a\n    ```\n\n", "c"},
		"inline backticks are no fence":  {"``` a ``` b\n\n", "c"},
		"an indented line stays":         {"", "- a\n\n  more of a"},
		"a loose list stays whole":       {"", "- a\n\n- b"},
		"and its next mark, half there":  {"", "1. a\n\n2"},
		"text behind a list":             {"1. a\n\n", "done"},
		"a list behind text":             {"text\n\n", "- a"},
		"a number that starts no item":   {"1. a\n\n", "2 teeth\n"},
		"a formula hides empty lines":    {"a\n\n", "$$\nx\n\ny"},
		"and one behind a mark":          {"", "1. \\[\n   x\n\ny"},
		"an environment":                 {"", "\\begin{align}\nx\n\n\\begin{align}"},
		"a closed formula does not":      {"\\[\nx\n\ny\n\\]\n\n", "text"},
		"one without an end in reach":    {"$$\n\n" + strings.Repeat("a\n", 2000) + "\n", "text"},
		"a price is no formula":          {"$$$\n\n", "text"},
		"spaces alone are an empty line": {"one\n \t\n", "two"},
		"nothing":                        {"", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			closed, open := markdown.Split(test.closed + test.open)
			if closed != test.closed || open != test.open {
				t.Errorf("got %q and %q, want %q and %q", closed, open, test.closed, test.open)
			}
		})
	}
}

// FuzzSplit: a closed block stays closed whatever comes behind it.
func FuzzSplit(f *testing.F) {
	f.Add("1. a\n\n```\nx\n\n```\n\nb", "\n\nc")
	f.Add("a\n\n\\[\nx\n\ny", "\n\\]\n\nb")
	f.Fuzz(func(t *testing.T, text, more string) {
		closed, open := markdown.Split(text)
		if closed+open != text {
			t.Fatalf("%q became %q and %q", text, closed, open)
		}
		later, _ := markdown.Split(text + more)
		if !strings.HasPrefix(later, closed) {
			t.Errorf("%q: closed %q, but with %q only %q", text, closed, more, later)
		}
	})
}
