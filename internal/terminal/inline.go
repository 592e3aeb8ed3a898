package terminal

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"

	"molar/internal/markdown"
)

// A style is a set of SGR parameters (ECMA-48 section 8.3.117), such as "1;4".
type style string

const (
	plain     style = ""
	bold      style = "1"
	dim       style = "2"
	italic    style = "3"
	underline style = "4"
	struck    style = "9"
	code      style = "36"
	heading   style = "1;36"
	alarm     style = "1;37;41"
	chosen    style = "1;36"
)

// codeStyles are the styles of the parts of code; text between them has none.
var codeStyles = map[markdown.Kind]style{
	markdown.Comment: dim, markdown.String: "32", markdown.Number: "33", markdown.Keyword: "35", markdown.Key: code,
}

// and is both styles at once.
func (s style) and(other style) style {
	switch {
	case s == plain || s == other:
		return other
	case other == plain:
		return s
	}
	return s + ";" + other
}

// on writes the text in the style.
func (s style) on(text string) string {
	if s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// A span is text in one style. A span "\n" breaks the line.
type span struct {
	text  string
	style style
	link  string // the address that it leads to; empty for none
}

// Marks of a link (OSC 8): its address follows the first one, and the second one ends it and the text.
const (
	linkBegin = "\x1b]8;;"
	linkEnd   = "\x1b\\"
)

// written returns the text with its style and its link.
func (s span) written() string {
	if s.link == "" {
		return s.style.on(s.text)
	}
	return linkBegin + s.link + linkEnd + s.style.on(s.text) + linkBegin + linkEnd
}

// linked makes a text that shows an address lead to it, even where it is broken into lines.
func linked(address string, in style) span {
	s := span{text: address, style: in}
	scheme, _, _ := strings.Cut(address, ":")
	strange := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if (scheme == "http" || scheme == "https") && !strings.ContainsFunc(address, strange) {
		s.link = address
	}
	return s
}

// inlines flattens the inline children of a node.
func inlines(n ast.Node, source []byte, in style) []span {
	var spans []span
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		spans = append(spans, inline(c, source, in)...)
	}
	return spans
}

func inline(n ast.Node, source []byte, in style) []span {
	switch n := n.(type) {
	case *ast.Text:
		spans := []span{{text: string(n.Segment.Value(source)), style: in}}
		if n.HardLineBreak() || n.SoftLineBreak() { // the writer of a chat means the line end
			return append(spans, span{text: "\n", style: plain})
		}
		return spans
	case *ast.String:
		return []span{{text: string(n.Value), style: in}}
	case *ast.CodeSpan:
		return inlines(n, source, in.and(code))
	case *ast.Emphasis:
		if n.Level > 1 {
			return inlines(n, source, in.and(bold))
		}
		return inlines(n, source, in.and(italic))
	case *extension.Strikethrough:
		return inlines(n, source, in.and(struck))
	case *markdown.Math:
		var spans []span
		for i, line := range strings.Split(strings.TrimRight(n.Source, "\n"), "\n") {
			if i > 0 {
				spans = append(spans, span{text: "\n", style: plain})
			}
			spans = append(spans, span{text: line, style: in.and(code)})
		}
		return spans
	case *markdown.FootnoteMark:
		return []span{{text: "[" + n.Label + "]", style: in.and(dim)}}
	case *extension.TaskCheckBox:
		if n.IsChecked {
			return []span{{text: "[x] ", style: in}}
		}
		return []span{{text: "[ ] ", style: in}}
	case *ast.Link:
		return link(inlines(n, source, in.and(underline)), string(n.Destination), in)
	case *ast.AutoLink:
		return []span{linked(string(n.URL(source)), in.and(underline))}
	case *ast.Image:
		return image(n, source, in)
	case *ast.RawHTML:
		return []span{{text: rawHTML(n, source), style: in}}
	}
	return inlines(n, source, in)
}

// link adds its address after the text, unless the text is the address.
func link(text []span, address string, in style) []span {
	if address == "" || joined(text) == address {
		return text
	}
	faint := in.and(dim)
	return append(text, span{text: " (", style: faint}, linked(address, faint), span{text: ")", style: faint})
}

// image returns the image's text, since a terminal cannot show it.
func image(n *ast.Image, source []byte, in style) []span {
	name := joined(inlines(n, source, plain))
	if name == "" {
		name = "image"
	}
	return link([]span{{text: "[image: " + name + "]", style: in}}, string(n.Destination), in)
}

// rawHTML is shown as source, except the line break that models like to use.
func rawHTML(n *ast.RawHTML, source []byte) string {
	text := string(n.Segments.Value(source))
	switch strings.ToLower(strings.Join(strings.Fields(text), "")) {
	case "<br>", "<br/>":
		return "\n"
	}
	return text
}

func joined(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.text)
	}
	return b.String()
}

// lines returns the source lines of a block, without their ends.
func lines(n ast.Node, source []byte) []string {
	var all []string
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		all = append(all, string(bytes.TrimRight(at.Value(source), "\r\n")))
	}
	return all
}
