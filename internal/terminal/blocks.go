package terminal

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// render turns Markdown into lines of at most columns columns. Code is never
// wrapped by words: a long line of it is cut into pieces that lose nothing.
func render(p parser.Parser, source string, columns int) []string {
	r := blocks{source: []byte(source)}
	return r.children(p.Parse(text.NewReader(r.source)), columns)
}

type blocks struct{ source []byte }

// children renders the blocks below a node, with an empty line between them.
func (r blocks) children(n ast.Node, columns int) []string {
	var all []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		part := r.block(c, columns)
		if len(part) == 0 {
			continue
		}
		if len(all) > 0 && !tight(n) {
			all = append(all, "")
		}
		all = append(all, part...)
	}
	return all
}

// tight says whether no empty line stands before a block: inside the items of a
// tight list, and between them.
func tight(parent ast.Node) bool {
	switch p := parent.(type) {
	case *ast.List:
		return p.IsTight
	case *ast.ListItem:
		list, ok := p.Parent().(*ast.List)
		return ok && list.IsTight
	}
	return false
}

func (r blocks) block(n ast.Node, columns int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return wrap(inlines(n, r.source, heading), columns)
	case *ast.Paragraph, *ast.TextBlock:
		return wrap(inlines(n, r.source, plain), columns)
	case *ast.List:
		return r.list(n, columns)
	case *ast.Blockquote:
		return prefixed(r.children(n, columns-2), dim.on("│")+" ", dim.on("│")+" ")
	case *ast.FencedCodeBlock:
		return r.code(n, columns)
	case *ast.CodeBlock:
		return r.code(n, columns)
	case *ast.HTMLBlock:
		return r.pieces(n, columns, plain)
	case *ast.ThematicBreak:
		return []string{dim.on(strings.Repeat("─", min(columns, 40)))}
	case *tables.Table:
		return r.table(n, columns)
	}
	return r.children(n, columns)
}

// list numbers or marks its items and indents what belongs to them.
func (r blocks) list(list *ast.List, columns int) []string {
	var all []string
	number := list.Start
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
		if len(all) > 0 && !list.IsTight {
			all = append(all, "")
		}
		all = append(all, prefixed(item, mark, indent)...)
	}
	return all
}

func (r blocks) code(n ast.Node, columns int) []string {
	all := r.pieces(n, columns-2, code)
	for i, line := range all {
		if line != "" {
			all[i] = "  " + line
		}
	}
	return all
}

// pieces are the lines of a block as they are, cut where they are too long.
func (r blocks) pieces(n ast.Node, columns int, in style) []string {
	columns = max(columns, 1)
	var all []string
	for _, line := range lines(n, r.source) {
		line = strings.ReplaceAll(line, "\t", "    ")
		for start, used := 0, 0; ; {
			end := len(line)
			for i, c := range line[start:] {
				if used += runeWidth(c); used > columns {
					end = start + i
					break
				}
			}
			if end == start && end < len(line) { // a wide character on a narrow screen
				end = len(line)
			}
			all = append(all, in.on(line[start:end]))
			if end == len(line) {
				break
			}
			start, used = end, 0
		}
	}
	return all
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
