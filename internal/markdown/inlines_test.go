package markdown_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/markdown"
)

// The places are those of the source, whatever stands around.
func TestInlines(t *testing.T) {
	const x = "https://x.example/"
	tests := []struct {
		source string
		want   []markdown.Inline
		text   []string
	}{
		{"a [b](https://x.example/)", []markdown.Inline{{Kind: markdown.Link, Address: x, Label: "b"}}, []string{"[b](https://x.example/)"}},
		{"- ![*b* `c`](<https://x.example/> 't') d", []markdown.Inline{{Kind: markdown.Image, Address: x, Label: "b c"}}, []string{"![*b* `c`](<https://x.example/> 't')"}},
		{"![[m]](&#104;ttps:/\\/x.example/)", []markdown.Inline{{Kind: markdown.Image, Address: x, Label: "[m]"}}, []string{"![[m]](&#104;ttps:/\\/x.example/)"}},
		{"[![a](b)](https://x.example/)", []markdown.Inline{{Kind: markdown.Link, Address: x, Label: "a"}}, []string{"[![a](b)](https://x.example/)"}},
		{"> # <https://x.example/>", []markdown.Inline{{Kind: markdown.Autolink, Address: x}}, []string{"<https://x.example/>"}},
		{"`[a](b)` and [a\nb](https://x.example/)", []markdown.Inline{
			{Kind: markdown.CodeSpan, Label: "[a](b)"}, {Kind: markdown.Link, Address: x, Label: "a b"},
		}, []string{"`[a](b)`", "[a\nb](https://x.example/)"}},
		{"https://x.example/ \\[a](b) $[a]_(b)$", nil, nil},
	}
	in := markdown.NewInlines()
	for _, tt := range tests {
		got := in.Of(tt.source)
		var text []string
		for i := range got {
			text = append(text, tt.source[got[i].Start:got[i].End])
			got[i].Start, got[i].End = 0, 0
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: %s", tt.source, diff)
		}
		if diff := cmp.Diff(tt.text, text); diff != "" {
			t.Errorf("%q: %s", tt.source, diff)
		}
	}
}
