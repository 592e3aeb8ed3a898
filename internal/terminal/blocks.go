package terminal

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"molar/internal/markdown"
)

// A sheet is Markdown rendered as lines, with the start of its last part: the part that more text
// can still change. In an open list, that is the last item, and in open code the last line, so that
// a long answer is not re-rendered with every piece.
type sheet struct {
	lines []string
	tail  int           // the first line of the last part
	cut   int           // where the part begins in the source; 0 if all can still change
	head  string        // what must precede the part for it to be parsed the same
	count int           // the number of the part's list item; 0 for none
	code  markdown.Code // has read the lines of code before the part
}

// render renders Markdown as lines of at most columns columns. Code is never wrapped by words:
// a long line of it is cut into pieces that lose nothing. before is the sheet whose last part
// the source begins with: a list continues its numbers, code its state.
func render(p parser.Parser, source string, columns int, before sheet) sheet {
	r := blocks{source: []byte(source)}
	var s sheet
	for c := p.Parse(text.NewReader(r.source)).FirstChild(); c != nil; c = c.NextSibling() {
		part := r.part(c, columns, before)
		before = sheet{}
		if len(part.lines) == 0 {
			s.cut = 0
			continue
		}
		if len(s.lines) > 0 {
			s.lines = append(s.lines, "")
		}
		part.tail += len(s.lines)
		part.lines = append(s.lines, part.lines...)
		s = part
	}
	if s.head == "" && !strings.Contains(source[s.cut:], "\n") {
		s.cut = 0 // the first line of the part may become something else
	}
	return s
}

// part renders a block of the document, and finds what of it can still change.
func (r blocks) part(n ast.Node, columns int, before sheet) sheet {
	s, count := sheet{cut: r.lineStart(n)}, before.count
	switch n := n.(type) {
	case *tables.Table:
		s.cut = 0 // its position is unknown, and its widths depend on every row
	case *ast.List:
		s.lines, s.tail = r.list(n, columns, cmp.Or(count, n.Start))
		if items := n.ChildCount(); items > 1 {
			s.cut = r.lineStart(n.LastChild())
			s.count = cmp.Or(count, n.Start) + items - 1
		} else {
			s.count = count
		}
		return s
	case *ast.FencedCodeBlock:
		reader := *markdown.NewCode(string(n.Language(r.source)))
		if before.head != "" {
			reader = before.code
		}
		s.code = reader
		all := lines(n, r.source)
		s.lines = coloured(&reader, all, columns)
		last := len(all) - 1
		if !bytes.HasSuffix(r.source, []byte("\n")) {
			last-- // the end of the source may become the end of the code
		}
		if last > 0 && s.cut == n.Pos() {
			open, _, _ := strings.Cut(string(r.source[n.Pos():]), "\n")
			s.head = open + "\n"
			s.cut = n.Lines().At(last).Start
			s.tail = len(coloured(&s.code, all[:last], columns))
		}
		return s
	}
	s.lines = r.block(n, columns)
	return s
}

// lineStart returns where a block begins in the source, if that is the start of a line; else
// 0.
func (r blocks) lineStart(n ast.Node) int {
	if at := n.Pos(); at > 0 && at < len(r.source) && r.source[at-1] == '\n' {
		return at
	}
	return 0
}

type blocks struct{ source []byte }

// children renders the blocks below a node, with an empty line between them; in a list
// item only where the source has one.
func (r blocks) children(n ast.Node, columns int) []string {
	_, item := n.(*ast.ListItem)
	var all []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		part := r.block(c, columns)
		if len(part) == 0 {
			continue
		}
		if len(all) > 0 && (!item || c.HasBlankPreviousLines()) {
			all = append(all, "")
		}
		all = append(all, part...)
	}
	return all
}

func (r blocks) block(n ast.Node, columns int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return wrap(inlines(n, r.source, heading), columns)
	case *ast.Paragraph, *ast.TextBlock:
		return wrap(inlines(n, r.source, plain), columns)
	case *ast.List:
		all, _ := r.list(n, columns, n.Start)
		return all
	case *ast.Blockquote:
		return prefixed(r.children(n, columns-2), dim.on("│")+" ", dim.on("│")+" ")
	case *ast.FencedCodeBlock:
		return coloured(markdown.NewCode(string(n.Language(r.source))), lines(n, r.source), columns)
	case *ast.CodeBlock, *markdown.MathBlock:
		return coloured(markdown.NewCode(""), lines(n, r.source), columns)
	case *markdown.Footnote:
		mark := "[" + n.Label + "] "
		return prefixed(r.children(n, columns-Width(mark)), dim.on(mark), strings.Repeat(" ", Width(mark)))
	case *ast.HTMLBlock:
		return uncoloured(lines(n, r.source), columns)
	case *ast.ThematicBreak:
		return []string{dim.on(strings.Repeat("─", min(columns, 40)))}
	case *tables.Table:
		return r.table(n, columns)
	}
	return r.children(n, columns)
}

// list numbers or marks its items and indents their content. Two items have an empty line
// between them if the source has one: later text changes nothing above it. last is the first
// line of the last item.
func (r blocks) list(list *ast.List, columns, number int) (all []string, last int) {
	for c := list.FirstChild(); c != nil; c = c.NextSibling() {
		mark := "• "
		if list.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		indent := strings.Repeat(" ", Width(mark))
		item := r.children(c, columns-Width(mark))
		if len(item) == 0 {
			item = []string{""}
		}
		if len(all) > 0 && c.HasBlankPreviousLines() {
			all = append(all, "")
		}
		last = len(all)
		all = append(all, prefixed(item, mark, indent)...)
	}
	return all, last
}

// coloured returns code as coloured lines, indented by two columns.
func coloured(reader *markdown.Code, lines []string, columns int) []string {
	var all []string
	for _, line := range lines {
		var spans []span
		for _, part := range reader.Line(line) {
			spans = append(spans, span{text: part.Text, style: codeStyles[part.Kind]})
		}
		if !reader.Known() {
			spans = []span{{text: line, style: code}}
		}
		for _, piece := range pieces(spans, columns-2) {
			if piece != "" {
				piece = "  " + piece
			}
			all = append(all, piece)
		}
	}
	return all
}

// uncoloured returns lines unchanged, cut if they are too long.
func uncoloured(lines []string, columns int) []string {
	var all []string
	for _, line := range lines {
		all = append(all, pieces([]span{{text: line, style: plain}}, columns)...)
	}
	return all
}

// pieces cuts a line that is too long. A wide character on a narrow screen stays whole.
func pieces(line []span, columns int) []string {
	var all []string
	var b strings.Builder
	used := 0
	for _, s := range line {
		text := strings.ReplaceAll(s.text, "\t", "    ")
		start, before := 0, rune(0)
		for i, c := range text {
			width := stepWidth(before, c)
			if before = c; used > 0 && used+width > max(columns, 1) {
				b.WriteString(s.style.on(text[start:i]))
				all = append(all, b.String())
				b.Reset()
				start, used = i, width
			} else {
				used += width
			}
		}
		b.WriteString(s.style.on(text[start:]))
	}
	return append(all, b.String())
}

// prefixed puts first before the first line and rest before the others.
func prefixed(lines []string, first, rest string) []string {
	for i, line := range lines {
		before := rest
		if i == 0 {
			before = first
		}
		lines[i] = strings.TrimRight(before+line, " ")
	}
	return lines
}
