package terminal

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
)

const columnGap = 2

// table sets the cells in columns that fit the width. If even narrow columns do not fit, each
// row is written as lines of "heading: cell".
func (r blocks) table(table *tables.Table, columns int) []string {
	var rows [][][]span
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		in := plain
		if row.Kind() == tables.KindTableHeader {
			in = bold
		}
		rows = append(rows, r.cells(row, in))
	}
	widths, ok := columnWidths(rows, columns)
	if !ok {
		return recordLines(rows, columns)
	}
	var all []string
	for i, row := range rows {
		all = append(all, rowLines(row, widths, table.Alignments)...)
		if i == 0 {
			all = append(all, dim.on(strings.Repeat("─", total(widths))))
		}
	}
	return all
}

func (r blocks) cells(row ast.Node, in style) [][]span {
	var cells [][]span
	for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
		cells = append(cells, inlines(cell, r.source, in))
	}
	return cells
}

// columnWidths narrows the widest column until all fit; false means that a column would be too
// narrow to read.
func columnWidths(rows [][][]span, columns int) ([]int, bool) {
	const narrowest = 6
	if len(rows) == 0 {
		return nil, true
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			if i < len(widths) {
				widths[i] = max(widths[i], Width(joined(cell)), 1)
			}
		}
	}
	for total(widths) > columns {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrowest {
			return nil, false
		}
		widths[widest]--
	}
	return widths, true
}

func total(widths []int) int {
	sum := columnGap * max(len(widths)-1, 0)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// rowLines sets one row; a cell that is too long takes several lines.
func rowLines(row [][]span, widths []int, aligned []tables.Alignment) []string {
	height, wrapped := 1, make([][]string, len(widths))
	for i, width := range widths {
		if i < len(row) {
			wrapped[i] = wrap(row[i], width)
		}
		height = max(height, len(wrapped[i]))
	}
	all := make([]string, height)
	for y := range height {
		var b strings.Builder
		for i, width := range widths {
			cell := ""
			if y < len(wrapped[i]) {
				cell = wrapped[i][y]
			}
			room, left := max(width-Width(unstyled(cell)), 0), 0
			if i < len(aligned) && aligned[i] == tables.AlignRight {
				left = room
			} else if i < len(aligned) && aligned[i] == tables.AlignCenter {
				left = room / 2
			}
			b.WriteString(strings.Repeat(" ", left) + cell)
			if i < len(widths)-1 {
				b.WriteString(strings.Repeat(" ", room-left+columnGap))
			}
		}
		all[y] = strings.TrimRight(b.String(), " ")
	}
	return all
}

// recordLines writes rows as "heading: cell" lines, with an empty line between rows.
func recordLines(rows [][][]span, columns int) []string {
	var all []string
	for i, row := range rows[1:] {
		if i > 0 {
			all = append(all, "")
		}
		for j, cell := range row {
			spans := cell
			if j < len(rows[0]) {
				spans = append(append([]span{}, rows[0][j]...), append([]span{{text: ": ", style: bold}}, cell...)...)
			}
			all = append(all, wrap(spans, columns)...)
		}
	}
	return all
}

// unstyled returns one of our lines without the styles and links that were written into it.
func unstyled(line string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(line, "\x1b")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := "m"
		if strings.HasPrefix(rest, "]") {
			end = linkEnd
		}
		_, line, _ = strings.Cut(rest, end)
	}
}
