package markdown

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// An Inline is a link, an image or a code span, and its place in the source.
type Inline struct {
	Kind       InlineKind
	Start, End int
	// Address and Label are what a reader gets, without the escapes of Markdown.
	Address, Label string
}

// An InlineKind is the kind of an [Inline].
type InlineKind int

// The kinds of inlines.
const (
	Link InlineKind = iota
	Image
	// Autolink is an address in angle brackets.
	Autolink
	CodeSpan
)

// Inlines finds the inlines of a text as [New] parses them. It is safe for concurrent use.
type Inlines struct{ parse parser.Parser }

// NewInlines returns a finder.
func NewInlines() *Inlines {
	inline := parser.DefaultInlineParsers()
	for i := range inline {
		if p, ok := inline[i].Value.(parser.InlineParser); ok {
			inline[i].Value = placing{p}
		}
	}
	p := parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...), parser.WithInlineParsers(inline...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))
	return &Inlines{goldmark.New(goldmark.WithParser(p), goldmark.WithExtensions(dialect()...)).Parser()}
}

// dialect returns what the dialect adds to CommonMark.
func dialect() []goldmark.Extender {
	return []goldmark.Extender{
		formulaCells{},
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
		extension.Strikethrough, extension.TaskList, extension.Linkify,
		additions{},
	}
}

// Of returns the outermost inlines of a source in order. Bare addresses are not among them.
func (in *Inlines) Of(source string) []Inline {
	var all []Inline
	src := []byte(source)
	_ = ast.Walk(in.parse.Parse(text.NewReader(src)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		place, ok := n.AttributeString(placeName)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		found, ok := place.(Inline)
		if !ok {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			found.Kind, found.Address = Link, unescaped(n.Destination)
		case *ast.Image:
			found.Kind, found.Address = Image, unescaped(n.Destination)
		case *ast.AutoLink:
			found.Kind, found.Address = Autolink, string(n.URL(src))
		default:
			found.Kind = CodeSpan
		}
		found.Label = labelOf(n, src)
		all = append(all, found)
		return ast.WalkSkipChildren, nil
	})
	return all
}

// labelOf returns the text within a node.
func labelOf(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.WriteString(unescaped(n.Segment.Value(source)))
			}
			if entering && n.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case *Math:
			if entering {
				b.WriteString(n.Source)
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func unescaped(source []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(source))))
}

// placeName is the attribute in which a node keeps its place.
const placeName = "place"

// placing notes where the nodes of a parser stand in the source.
type placing struct{ parser.InlineParser }

// Parse implements [parser.InlineParser].
func (p placing) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	_, before := block.Position()
	n := p.InlineParser.Parse(parent, block, pc)
	switch n := n.(type) {
	case *ast.Link, *ast.Image:
		p.place(n, n.Pos(), block)
	case *ast.AutoLink, *ast.CodeSpan:
		p.place(n, before.Start, block)
	}
	return n
}

func (placing) place(n ast.Node, start int, block text.Reader) {
	_, after := block.Position()
	n.SetAttributeString(placeName, Inline{Start: start, End: after.Start})
}

// CloseBlock implements [parser.CloseBlocker].
func (p placing) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := p.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}
