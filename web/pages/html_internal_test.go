package pages

import (
	"strings"
	"testing"

	"molar/agent/answer"
)

func TestMarkdownWriter(t *testing.T) {
	tests := map[string]struct {
		in, want string
		never    []string
	}{
		"emphasis":       {in: "**răng** *sữa*", want: "<p><strong>răng</strong> <em>sữa</em></p>"},
		"link":           {in: "[NHS](https://nhs.uk)", want: `<a href="https://nhs.uk" rel="nofollow noreferrer noopener" target="_blank">NHS</a>`},
		"bare link":      {in: "see https://nhs.uk now", want: `<a href="https://nhs.uk"`},
		"script link":    {in: "[x](javascript:alert(1))", want: "x", never: []string{"href", "javascript"}},
		"data link":      {in: "[x](data:text/html,<script>1</script>)", want: "x", never: []string{"href", "<script"}},
		"raw script":     {in: "a <script>alert(1)</script> b", want: "<p>a", never: []string{"<script"}},
		"event handler":  {in: `<img src=x onerror=alert(1)>`, never: []string{"<img", "onerror"}},
		"image":          {in: "![alt](https://x.y/z.png)", want: `<p><a href="https://x.y/z.png" rel="nofollow noreferrer noopener" target="_blank">alt</a></p>`, never: []string{"<img"}},
		"badge":          {in: "[![alt](https://x.y/z.png)](https://x.y/) ![](https://x.y/z.png)", want: `target="_blank">alt</a> <a href="https://x.y/z.png" rel="nofollow noreferrer noopener" target="_blank">https://x.y/z.png</a></p>`, never: []string{"<img", "["}},
		"table":          {in: "|a|b|\n|:-|-:|\n|1|2|", want: `<td align="left">1</td>` + "\n" + `<td align="right">2</td>`},
		"tasks":          {in: "- [ ] open\n- [x] done", want: `<li><input disabled="" type="checkbox"> open</li>` + "\n" + `<li><input checked="" disabled="" type="checkbox"> done</li>`},
		"footnote":       {in: "so[^1]\n\n[^1]: because", want: `<p>so<sup class="footmark">1</sup></p>` + "\n" + `<div class="footnote"><sup>1</sup>` + "\n<p>because</p>\n</div>"},
		"math":           {in: `\(a^2\) and $b_1\,b_2$, $5 or $6`, want: `<code class="math">\(a^2\)</code> and <code class="math">$b_1\,b_2$</code>, $5 or $6`},
		"short math":     {in: "$x$ and $f(x)$, $a + b$, $10$ and $n!$ of $ABC$", want: `<code class="math">$x$</code> and <code class="math">$f(x)$</code>, <code class="math">$a + b$</code>, <code class="math">$10$</code> and <code class="math">$n!$</code> of <code class="math">$ABC$</code>`},
		"no math":        {in: "$5 and $10, or 5$ and 6$, $5-$10, $5,$6, US$5-US$6, 5$, 6$, $HOME/$USER, $x-$y, a$b$c, $PATH: $, $five$", want: "<p>$5 and $10, or 5$ and 6$, $5-$10, $5,$6, US$5-US$6, 5$, 6$, $HOME/$USER, $x-$y, a$b$c, $PATH: $, $five$</p>"},
		"math in lines":  {in: "so\n\\[\na \\\\ b\n=\nc\n\\]\nend", want: `<pre><code class="language-math">\[` + "\na \\\\ b\n=\nc\n\\]\n</code></pre>\n<p>end</p>"},
		"math with HTML": {in: `$<b>\x</b>$ and \[<i>\]`, want: `<code class="math">$&lt;b&gt;\x&lt;/b&gt;$</code>`, never: []string{"<b>", "<i>"}},
		"mermaid":        {in: "```mermaid\ngraph TD; A-->B\n```", want: `<pre><code class="language-mermaid">graph TD; A--&gt;B`},
		"colours":        {in: "```go\nx := 1 // <b>\n```", want: `x := <span class="code-number">1</span> <span class="code-comment">// &lt;b&gt;</span>`},
		"code language":  {in: "```go\nx := \"<b>\"\n```", want: `<code class="language-go">x := <span class="code-string">&#34;&lt;b&gt;&#34;</span>`},
		"code class":     {in: "```go\" onload=\"x\n1\n```", want: "<code", never: []string{"onload="}},
		"tags":           {in: "H<sub>2</sub>O, x<SUP>2</SUP>, <kbd>Esc</kbd>, <mark>a</mark><br/>b", want: "<p>H<sub>2</sub>O, x<sup>2</sup>, <kbd>Esc</kbd>, <mark>a</mark><br>b</p>"},
		"tags in cells":  {in: "|a|\n|-|\n|1<br>2|", want: "<td>1<br>2</td>"},
		"tags with more": {in: "a<sub onclick=pwn()>b</sub><kbd class=\"x\">c</kbd><mark style='color:red'>d<br id=e>", want: "<p>ab</sub>c</kbd>d</p>", never: []string{"onclick", "class", "style", "id="}},
		"block of HTML":  {in: "<details>\n<summary>More &amp; less</summary>\n\n*text*\n\n</details>\n\n<div onclick=\"pwn()\"><b>x</b> < y</div>", want: "<p>More &amp; less</p>\n<p><em>text</em></p>\n\n<p>x", never: []string{"onclick", "<b", "<details"}},
		"script block":   {in: "<script>\nalert(1)\n</script>\n\n<style>a{}</style>\n\n<!-- c -->\n\nz", want: "<p>z</p>", never: []string{"alert", "a{}", "c --"}},
		"headings":       {in: "# a\n\n##### b", want: "<h3>a</h3>\n<h6>b</h6>", never: []string{"<h1"}},
		"numbered":       {in: "3. c\n4. d", want: `<ol start="3">`},
	}
	m := NewHTML()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := m.Of(test.in)
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

// What a model writes for a picture is a link on the page, however it arrives: the filter of answers and the
// page read it alike.
func TestPictures(t *testing.T) {
	const link = `" rel="nofollow noreferrer noopener" target="_blank">`
	for in, want := range map[string]string{
		"![a cat](https://x.y/c.png)":                                                   `<p><a href="https://x.y/c.png` + link + `a cat</a></p>`,
		"![a *cat*](<https://x.y/c.png> \"cat\")":                                       `<p><a href="https://x.y/c.png` + link + `a cat</a></p>`,
		"![](https://x.y/c.png)":                                                        `<p><a href="https://x.y/c.png` + link + `https://x.y/c.png</a></p>`,
		"[![badge](https://x.y/b.svg)](https://x.y/ci)":                                 `<p><a href="https://x.y/ci` + link + `badge</a></p>`,
		"[![badge](https://x.y/b.svg?style=flat&a=1)](https://x.y/ci)":                  `<p><a href="https://x.y/ci` + link + `badge</a></p>`,
		"[![](https://x.y/b.svg)](https://x.y/ci)":                                      `<p><a href="https://x.y/ci` + link + `https://x.y/ci</a></p>`,
		"[![one](https://x.y/1)](https://x.y/a) [![two](https://x.y/2)](https://x.y/b)": `<p><a href="https://x.y/a` + link + `one</a> <a href="https://x.y/b` + link + `two</a></p>`,
		"| a |\n|---|\n| ![cat](https://x.y/c.png) |":                                   `<td><a href="https://x.y/c.png` + link + `cat</a></td>`,
		"- ![cat](https://x.y/c.png)":                                                   `<li><a href="https://x.y/c.png` + link + `cat</a></li>`,
	} {
		for _, known := range []bool{false, true} { // without private text; with it, and with addresses that were read
			shown := answer.NewLinks(answer.LinksConfig{Private: func() bool { return known }, Known: func(string) bool { return true }})
			feed, latest := Feed{write: NewHTML()}, map[int]string{}
			for i := range len(in) + 1 {
				piece := shown.Rest
				if i < len(in) {
					piece = func() string { return shown.Pass(in[i : i+1]) }
				}
				blocks, err := feed.add(piece())
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range blocks {
					latest[b.Block] = b.HTML
				}
			}
			if got := latest[0]; !strings.Contains(got, want) || strings.ContainsAny(got, "[]!") || strings.Contains(got, "<img") {
				t.Errorf("%s, with private text %t: %q, want %q", in, known, got, want)
			}
		}
	}
}

func TestHTMLFeed(t *testing.T) {
	feed := Feed{write: NewHTML()}
	latest := map[int]string{} // the HTML of each block
	text := "# Title\n\nSome **bo" + "ld** text\n\n- a\n- b\n\nEnd"
	for i := range len(text) {
		blocks, err := feed.add(text[i : i+1])
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			latest[b.Block] = b.HTML
		}
	}
	var all strings.Builder
	for i := range len(latest) {
		all.WriteString(latest[i])
	}
	whole, err := NewHTML().Of(text)
	if err != nil {
		t.Fatal(err)
	}
	if all.String() != whole {
		t.Errorf("piece by piece %q, as a whole %q", all.String(), whole)
	}
}
