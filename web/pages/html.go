package pages

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

	"molar/agent/answer"
	"molar/internal/markdown"
)

// An HTML converts the Markdown of models and people to HTML that a page may insert: of raw HTML
// few tags without attributes are written, and the sanitiser allows only listed elements and attributes. It is safe for concurrent
// use.
type HTML struct {
	Markdown goldmark.Markdown
	Policy   *bluemonday.Policy
	// Notice returns the emergency notice that an answer begins with, or ""; nil means that
	// answers have none.
	Notice func(answer string) string
}

// NewHTML returns the renderer of the pages.
func NewHTML() *HTML {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre",
		"blockquote", "ul", "li", "table", "thead", "tbody", "tr")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|center|right)$`)).OnElements("th", "td")
	p.AllowElements("th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(math|language-[A-Za-z0-9_+#-]{1,32})$`)).OnElements("code")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^code-[a-z]{1,10}$`)).OnElements("span")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^footnote$`)).OnElements("div")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^footmark$`)).OnElements("sup")
	p.AllowElements("sub", "sup", "kbd", "mark")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	p.AllowAttrs("checked", "disabled").Matching(regexp.MustCompile(`^$`)).OnElements("input")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(false)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	md := markdown.New()
	md.Parser().AddOptions(parser.WithASTTransformers(util.Prioritized(imagesAsLinks{}, 0), util.Prioritized(lowerHeadings{}, 0)))
	return &HTML{Markdown: md, Policy: p}
}

// imagesAsLinks replaces every image by a link to it, and one within a link by its words, since a page loads
// nothing from other hosts.
type imagesAsLinks struct{}

// Transform implements [parser.ASTTransformer].
func (imagesAsLinks) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	var images []*ast.Image
	linked := map[ast.Node]bool{}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if image, ok := n.(*ast.Image); ok && entering {
			images = append(images, image)
			for above := n.Parent(); above != nil && !linked[n]; above = above.Parent() {
				linked[n] = above.Kind() == ast.KindLink
			}
		}
		return ast.WalkContinue, nil
	})
	for _, image := range images {
		var instead ast.Node = ast.NewTextBlock()
		if !linked[image] {
			link := ast.NewLink()
			link.Destination, link.Title = image.Destination, image.Title
			instead = link
		}
		for c := image.FirstChild(); c != nil; c = image.FirstChild() {
			instead.AppendChild(instead, c)
		}
		if instead.ChildCount() == 0 {
			instead.AppendChild(instead, ast.NewString(image.Destination))
		}
		image.Parent().ReplaceChild(image.Parent(), image, instead)
	}
}

// lowerHeadings moves an answer's headings below those of the page, which use levels 1 and 2.
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

// Of renders one text. An emergency notice at its beginning gets its own box.
func (m *HTML) Of(source string) (string, error) {
	notice := m.notice(source)
	if notice == "" {
		return m.plain(source)
	}
	first, err := m.plain(notice)
	if err != nil {
		return "", err
	}
	rest, err := m.plain(source[len(notice):])
	return `<div class="emergency">` + first + "</div>" + rest, err
}

func (m *HTML) notice(source string) string {
	if m.Notice == nil {
		return ""
	}
	return m.Notice(source)
}

func (m *HTML) plain(source string) (string, error) {
	var b bytes.Buffer
	if err := m.Markdown.Convert([]byte(source), &b); err != nil {
		return "", fmt.Errorf("render markdown: %w", err)
	}
	return m.Policy.SanitizeReader(&b).String(), nil
}

// An htmlBlock is the HTML of one block of an answer. A block that is not closed is replaced by a
// later one with the same number.
type htmlBlock struct {
	Block  int    `json:"block"`
	HTML   string `json:"html"`
	Closed bool   `json:"closed,omitempty"`
}

// A Feed splits the answer of one stream into blocks of HTML. A nil Feed does nothing.
type Feed struct {
	write *HTML
	// seen is the turn so far: text of the answer may turn out to be commentary.
	seen  answer.Collector
	block int
	open  string
	// pending is the text that no note has rendered yet.
	pending string
}

// NewFeed returns the feed of a stream that continues the turn seen so far.
func NewFeed(write *HTML, seen answer.Collector) *Feed {
	return &Feed{write: write, seen: seen, pending: seen.Answer()}
}

// Add adds a piece of the answer, which the next note renders.
func (f *Feed) Add(ev answer.Event) {
	if f != nil {
		f.seen.Add(ev)
		f.pending += ev.Text
	}
}

// SetApart returns the HTML of commentary, which was text of the answer before. The blocks start
// again with the rest of the answer.
func (f *Feed) SetApart(ev answer.Event) string {
	if f == nil {
		return ""
	}
	f.seen.Add(ev)
	f.block, f.open, f.pending = 0, "", f.seen.Answer()
	html, err := f.write.Of(ev.Text)
	if err != nil {
		return "" // the client has the plain text
	}
	return html
}

// An htmlNote is the molar object with the HTML of the blocks that changed.
type htmlNote struct {
	Type   string      `json:"type"`
	Blocks []htmlBlock `json:"blocks"`
}

// longBlock is the size in bytes above which an open block is rendered again only when it has grown
// by a sixteenth, so that the cost of a long listing is not quadratic. Until then the client shows
// the plain text.
const longBlock = 4 << 10

// Note returns the JSON object under the key molar, with the HTML of the added text, or nil if there
// is nothing to render yet. last means that no text will follow.
func (f *Feed) Note(last bool) []byte {
	if f.pending == "" || !last && len(f.open) > longBlock && len(f.pending) < len(f.open)/16 {
		return nil
	}
	blocks, err := f.add(f.pending)
	f.pending = ""
	if err != nil {
		return nil // the client has the plain text
	}
	b, err := json.Marshal(htmlNote{Type: "html", Blocks: blocks})
	if err != nil {
		return nil
	}
	return b
}

// add adds text to the answer and returns the changed blocks.
func (f *Feed) add(text string) ([]htmlBlock, error) {
	var blocks []htmlBlock
	if notice := f.write.notice(text); notice != "" && f.block == 0 && f.open == "" { // a notice comes in one piece
		html, err := f.write.Of(notice)
		if err != nil {
			return nil, err
		}
		blocks, text = append(blocks, htmlBlock{f.block, html, true}), text[len(notice):]
		f.block++
	}
	closed, open := markdown.Split(f.open + text)
	f.open = open
	if closed != "" {
		html, err := f.write.Of(closed)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, htmlBlock{f.block, html, true})
		f.block++
	}
	if open == "" {
		return blocks, nil
	}
	html, err := f.write.Of(open)
	if err != nil {
		return nil, err
	}
	return append(blocks, htmlBlock{Block: f.block, HTML: html}), nil
}
