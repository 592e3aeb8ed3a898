package web

import (
	"strings"
	"testing"
)

func TestMarkdownWriter(t *testing.T) {
	tests := map[string]struct {
		in, want string
		never    []string
	}{
		"emphasis":        {in: "**răng** *sữa*", want: "<p><strong>răng</strong> <em>sữa</em></p>"},
		"link":            {in: "[NHS](https://nhs.uk)", want: `<a href="https://nhs.uk" rel="nofollow noreferrer noopener" target="_blank">NHS</a>`},
		"bare link":       {in: "see https://nhs.uk now", want: `<a href="https://nhs.uk"`},
		"script link":     {in: "[x](javascript:alert(1))", want: "x", never: []string{"href", "javascript"}},
		"data link":       {in: "[x](data:text/html,<script>1</script>)", want: "x", never: []string{"href", "<script"}},
		"raw script":      {in: "a <script>alert(1)</script> b", want: "<p>a", never: []string{"<script"}},
		"event handler":   {in: `<img src=x onerror=alert(1)>`, never: []string{"<img", "onerror"}},
		"image":           {in: "![alt](https://x.y/z.png)", want: `<a href="https://x.y/z.png"`, never: []string{"<img"}},
		"table with sort": {in: "|a|b|\n|:-|-:|\n|1|2|", want: "<table>"},
		"code language":   {in: "```go\nx := \"<b>\"\n```", want: `<code class="language-go">x := &#34;&lt;b&gt;&#34;`},
		"code class":      {in: "```go\" onload=\"x\n1\n```", want: "<code", never: []string{"onload="}},
		"headings":        {in: "# a\n\n##### b", want: "<h3>a</h3>\n<h6>b</h6>", never: []string{"<h1"}},
		"numbered":        {in: "3. c\n4. d", want: `<ol start="3">`},
	}
	m := newMarkdownWriter()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := m.html(test.in)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("%q has no %q", got, test.want)
			}
			for _, bad := range test.never {
				if strings.Contains(got, bad) {
					t.Errorf("%q has %q", got, bad)
				}
			}
		})
	}
}

func TestHTMLFeed(t *testing.T) {
	feed := htmlFeed{write: newMarkdownWriter()}
	shown := map[int]string{}
	text := "# Title\n\nSome **bo" + "ld** text\n\n- a\n- b\n\nEnd"
	for i := range len(text) {
		blocks, err := feed.add(text[i : i+1])
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			shown[b.Block] = b.HTML
		}
	}
	var all strings.Builder
	for i := range len(shown) {
		all.WriteString(shown[i])
	}
	whole, err := newMarkdownWriter().html(text)
	if err != nil {
		t.Fatal(err)
	}
	if all.String() != whole {
		t.Errorf("piece by piece %q, as a whole %q", all.String(), whole)
	}
}
