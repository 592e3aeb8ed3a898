package markdown

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// formulaCells lets the formulas in tables hold bars, as in |x|: a row with too many cells is split without them.
type formulaCells struct{ parser.ParagraphTransformer }

// Extend implements [goldmark.Extender]. The transformer precedes that of goldmark.
func (formulaCells) Extend(m goldmark.Markdown) {
	inner := formulaCells{extension.NewTableParagraphTransformer()}
	m.Parser().AddOptions(parser.WithParagraphTransformers(util.Prioritized(inner, 199)))
}

// Transform implements [parser.ParagraphTransformer].
func (f formulaCells) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	cells := 0
	for i := range lines.Len() {
		if row := lines.At(i); i > 0 && cells == 0 && isDelimiter(row.Value(reader.Source())) {
			cells = countCells(row.Value(reader.Source()))
		}
	}
	var masked []byte
	for i := range lines.Len() {
		segment := lines.At(i)
		row := segment.Value(reader.Source())
		if cells == 0 || countCells(row) <= cells {
			continue
		}
		for _, at := range barsInFormulas(string(row)) {
			if masked == nil {
				masked = slices.Clone(reader.Source())
			}
			masked[segment.Start-segment.Padding+at] = 'x' // the cells only get the place of what they hold
		}
	}
	if masked != nil {
		f.ParagraphTransformer.Transform(node, text.NewReader(masked), pc)
	}
}

// isDelimiter reports whether a line may be the one below the names of columns.
func isDelimiter(line []byte) bool {
	return bytes.Contains(line, []byte("-")) && len(bytes.Trim(line, "|:- \t\r\n")) == 0
}

// countCells returns the number of cells of a row.
func countCells(row []byte) int {
	row = bytes.TrimSpace(row)
	escaped := bytes.Count(row, []byte(`\|`))
	return bytes.Count(bytes.TrimSuffix(bytes.TrimPrefix(row, []byte("|")), []byte("|")), []byte("|")) - escaped + 1
}

// barsInFormulas returns the places of the bars within the formulas of a row.
func barsInFormulas(row string) []int {
	var bars []int
	before := ' '
	for i := 0; i < len(row); {
		r, size := utf8.DecodeRuneInString(row[i:])
		mark := markAt(row[i:])
		if n := mark.length(row[i:]); mark.open != "" && n > 0 {
			inside, after := row[i+len(mark.open):i+n-len(mark.end)], row[i+n:]
			next, _ := utf8.DecodeRuneInString(after)
			if mark.isMath(before, inside, after) && !isJoined(next) {
				for at := range inside {
					if inside[at] == '|' && (at == 0 || inside[at-1] != '\\') {
						bars = append(bars, i+len(mark.open)+at)
					}
				}
				r, size = '$', n
			}
		} else if r == '\\' {
			size = min(2, len(row)-i)
		}
		before = r
		i += size
	}
	return bars
}
