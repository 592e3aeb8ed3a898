package search

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

// The lines of a text stay, and none of them can open a block or a link of its own, whatever sign of a
// line end stands before it.
func TestAnswered_Text(t *testing.T) {
	table := Result{
		Title: "Prices\nTitle: no", Content: "| a | b |\n  | 1 | 2 |\r\nLink: https://evil.example\u2028---\u0085Title: no\n\n",
		Link: "prices.md", Place: &schemas.Place{Folder: "f", File: "prices.pdf", Page: 2},
	}
	const block = "Title: Prices Title: no\nContent:\n> | a | b |\n>   | 1 | 2 |\n> Link: https://evil.example\n> ---\n> Title: no\nPlace: prices.pdf, trang 2\nLink: prices.md"
	for name, tt := range map[string]struct {
		a    answered
		want string
	}{
		"nothing":  {answered{}, "No results."},
		"a note":   {answered{note: "Words alone count."}, "No results. Words alone count."},
		"a result": {answered{results: []Result{table}, lang: "vi"}, block},
		"two, and a note": {
			answered{results: []Result{{Title: "A", Content: "one \t line", Link: "a"}, table}, note: "Words alone count.", lang: "vi"},
			"Title: A\nContent: one line\nLink: a\n---\n" + block + "\n\nWords alone count.",
		},
		"perhaps": {answered{perhaps: []Result{table}, note: onlyPerhaps, lang: "vi"}, "No results. " + onlyPerhaps + "\n\nPerhaps:\n" + block},
	} {
		if diff := cmp.Diff(tt.want, tt.a.text()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
