package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"molar/internal/markdown"
)

// A markdownWriter turns the Markdown of models and people into HTML that a page may
// insert: goldmark leaves out raw HTML, and the sanitiser lets through only what it
// names. It is safe for concurrent use.
type markdownWriter struct {
	md     goldmark.Markdown
	policy *bluemonday.Policy
}

func newMarkdownWriter() *markdownWriter {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre",
		"blockquote", "ul", "li", "table", "thead", "tbody", "tr")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|center|right)$`)).OnElements("th", "td")
	p.AllowElements("th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[A-Za-z0-9_+#-]{1,32}$`)).OnElements("code")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(false)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	md := markdown.New()
	md.Parser().AddOptions(parser.WithASTTransformers(util.Prioritized(imagesAsLinks{}, 0), util.Prioritized(lowerHeadings{}, 0)))
	return &markdownWriter{md: md, policy: p}
}

// imagesAsLinks makes a link of every image, so that a page loads nothing from
// elsewhere.
type imagesAsLinks struct{}

// Transform implements [parser.ASTTransformer].
func (imagesAsLinks) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	var images []*ast.Image
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if image, ok := n.(*ast.Image); ok && entering {
			images = append(images, image)
		}
		return ast.WalkContinue, nil
	})
	for _, image := range images {
		link := ast.NewLink()
		link.Destination, link.Title = image.Destination, image.Title
		for c := image.FirstChild(); c != nil; c = image.FirstChild() {
			link.AppendChild(link, c)
		}
		image.Parent().ReplaceChild(image.Parent(), image, link)
	}
}

// lowerHeadings puts an answer's headings below those of the page, whose own end at level 2.
type lowerHeadings struct{}

// Transform implements [parser.ASTTransformer].
func (lowerHeadings) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if heading, ok := n.(*ast.Heading); ok && entering {
			heading.Level = min(heading.Level+2, 6)
		}
		return ast.WalkContinue, nil
	})
}

// html renders one text.
func (m *markdownWriter) html(source string) (string, error) {
	var b bytes.Buffer
	if err := m.md.Convert([]byte(source), &b); err != nil {
		return "", fmt.Errorf("render markdown: %w", err)
	}
	return m.policy.SanitizeReader(&b).String(), nil
}

// An htmlBlock is the HTML of one block of an answer. The last block is open: a
// later one with its number replaces it.
type htmlBlock struct {
	Block  int    `json:"block"`
	HTML   string `json:"html"`
	Closed bool   `json:"closed,omitempty"`
}

// An htmlFeed cuts a stream into blocks. It belongs to one stream.
type htmlFeed struct {
	write *markdownWriter
	block int
	open  string
	// pending is what came since the last note.
	pending string
}

// take notes a piece of the answer, which the next note renders.
func (f *htmlFeed) take(text string) { f.pending += text }

// An htmlNote is the molar object with the HTML of the blocks that changed.
type htmlNote struct {
	Type   string      `json:"type"`
	Blocks []htmlBlock `json:"blocks"`
}

// longBlock is from where on, in bytes, an open block is only rendered again when it
// has grown by a sixteenth, so that a long listing costs no square of its length. The
// plain text is with the client all the time.
const longBlock = 4 << 10

// note gives the molar object of what was taken, or nil when there is nothing to
// show yet. last renders all.
func (f *htmlFeed) note(last bool) []byte {
	if f.pending == "" || !last && len(f.open) > longBlock && len(f.pending) < len(f.open)/16 {
		return nil
	}
	blocks, err := f.add(f.pending)
	f.pending = ""
	if err != nil {
		return nil // the text has gone out; it can be read without its form
	}
	b, err := json.Marshal(htmlNote{Type: "html", Blocks: blocks})
	if err != nil {
		return nil
	}
	return b
}

// add takes a piece of the answer and returns the blocks that it changed, one or
// two.
func (f *htmlFeed) add(text string) ([]htmlBlock, error) {
	closed, open := markdown.Split(f.open + text)
	f.open = open
	var blocks []htmlBlock
	if closed != "" {
		html, err := f.write.html(closed)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, htmlBlock{f.block, html, true})
		f.block++
	}
	if open == "" {
		return blocks, nil
	}
	html, err := f.write.html(open)
	if err != nil {
		return nil, err
	}
	return append(blocks, htmlBlock{Block: f.block, HTML: html}), nil
}
