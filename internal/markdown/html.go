package markdown

import (
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// additions adds to goldmark what its own extensions lack: formulas, footnotes, and highlighted
// code.
type additions struct{}

// Extend implements [goldmark.Extender]. The parsers precede those of goldmark for the same marks.
func (additions) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(
		parser.WithBlockParsers(util.Prioritized(mathBlock{}, 450), util.Prioritized(footnoteBlock{}, 650)),
		parser.WithInlineParsers(util.Prioritized(mathInline{}, 90), util.Prioritized(footnoteInline{}, 90)),
	)
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(writer{}, 100)))
}

// A writer writes formulas, footnotes and highlighted code as HTML.
type writer struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (writer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindMath, leaf(writeMath))
	r.Register(kindMathBlock, leaf(writeMathBlock))
	r.Register(kindFootnoteMark, leaf(writeMark))
	r.Register(kindFootnote, writeFootnote)
	r.Register(ast.KindFencedCodeBlock, leaf(writeCode))
	r.Register(ast.KindRawHTML, leaf(writeTag))
	r.Register(ast.KindHTMLBlock, leaf(writeText))
}

// leaf returns a renderer for nodes that are written as a whole, including their children.
func leaf(write func(w util.BufWriter, source []byte, n ast.Node)) renderer.NodeRendererFunc {
	return func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			write(w, source, n)
		}
		return ast.WalkSkipChildren, nil
	}
}

// put ignores errors, because a bufio.Writer returns them again from Flush.
func put(w util.BufWriter, parts ...string) {
	for _, p := range parts {
		_, _ = w.WriteString(p)
	}
}

func escaped(text string) string { return string(util.EscapeHTML([]byte(text))) }

func writeMath(w util.BufWriter, _ []byte, n ast.Node) {
	if m, ok := n.(*Math); ok {
		put(w, `<code class="math">`, escaped(m.Source), "</code>")
	}
}

func writeMathBlock(w util.BufWriter, source []byte, n ast.Node) {
	put(w, `<pre><code class="language-math">`)
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		put(w, escaped(string(line.Value(source))))
	}
	put(w, "</code></pre>\n")
}

func writeMark(w util.BufWriter, _ []byte, n ast.Node) {
	if f, ok := n.(*FootnoteMark); ok {
		put(w, `<sup class="footmark">`, escaped(f.Label), "</sup>")
	}
}

func writeFootnote(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if f, ok := n.(*Footnote); ok && entering {
		put(w, `<div class="footnote"><sup>`, escaped(f.Label), "</sup>\n")
	} else {
		put(w, "</div>\n")
	}
	return ast.WalkContinue, nil
}

func writeCode(w util.BufWriter, source []byte, n ast.Node) {
	block, ok := n.(*ast.FencedCodeBlock)
	if !ok {
		return
	}
	language := string(block.Language(source))
	put(w, "<pre><code")
	if language != "" {
		put(w, ` class="language-`, escaped(language), `"`)
	}
	put(w, ">")
	code := NewCode(language)
	for i := range block.Lines().Len() {
		line := block.Lines().At(i)
		for _, part := range code.Line(strings.TrimSuffix(string(line.Value(source)), "\n")) {
			if part.Kind == Plain {
				put(w, escaped(part.Text))
			} else {
				put(w, `<span class="code-`, part.Kind.String(), `">`, escaped(part.Text), "</span>")
			}
		}
		put(w, "\n")
	}
	put(w, "</code></pre>\n")
}

// plainTag matches a tag that models write where Markdown has no mark, and that ends with its paragraph if it is
// left open.
var plainTag = regexp.MustCompile(`(?i)^<(/?(?:sub|sup|kbd|mark)|br) ?/?>$`)

// tag matches any tag, as far as a text without tags needs it.
var tag = regexp.MustCompile(`<[/!?A-Za-z][^>]*>?`)

// writeTag writes a tag in a line if it is plain. Of others nothing is written.
func writeTag(w util.BufWriter, source []byte, n ast.Node) {
	raw, ok := n.(*ast.RawHTML)
	if !ok {
		return
	}
	if found := plainTag.FindSubmatch(raw.Segments.Value(source)); found != nil {
		put(w, "<", strings.ToLower(string(found[1])), ">")
	}
}

// writeText writes the text of a block of HTML without its tags; nothing of scripts, styles and comments.
func writeText(w util.BufWriter, source []byte, n ast.Node) {
	block, ok := n.(*ast.HTMLBlock)
	if !ok {
		return
	}
	text := ""
	if block.HTMLBlockType >= ast.HTMLBlockType6 {
		text = strings.TrimSpace(tag.ReplaceAllString(string(block.Lines().Value(source)), ""))
	}
	if text != "" {
		text = "<p>" + escaped(html.UnescapeString(text)) + "</p>"
	}
	put(w, text, "\n")
}
