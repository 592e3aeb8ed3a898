package markdown

import (
	"bytes"
	"regexp"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// A Math is a formula within a line, as TeX between \( and \), or between dollar signs.
type Math struct {
	ast.BaseInline
	// Source is the source of the formula, with its marks.
	Source string
}

// kindMath is the kind of [Math].
var kindMath = ast.NewNodeKind("Math")

// Kind implements [ast.Node].
func (*Math) Kind() ast.NodeKind { return kindMath }

// Dump implements [ast.Node].
func (m *Math) Dump(source []byte, level int) {
	ast.DumpHelper(m, source, level, map[string]string{"Source": m.Source}, nil)
}

// A MathBlock is a formula on separate lines. Its lines are the source, with the marks.
type MathBlock struct{ ast.BaseBlock }

// kindMathBlock is the kind of [MathBlock].
var kindMathBlock = ast.NewNodeKind("MathBlock")

// Kind implements [ast.Node].
func (*MathBlock) Kind() ast.NodeKind { return kindMathBlock }

// IsRaw implements [ast.Node].
func (*MathBlock) IsRaw() bool { return true }

// Dump implements [ast.Node].
func (m *MathBlock) Dump(source []byte, level int) { ast.DumpHelper(m, source, level, nil, nil) }

// mathMarks are the marks around formulas, the longer ones first.
var mathMarks = []struct{ open, end string }{{`\[`, `\]`}, {`$$`, `$$`}, {`\(`, `\)`}, {`$`, `$`}}

// mathInline parses formulas within a paragraph, before their backslashes and underscores are
// parsed as Markdown.
type mathInline struct{}

func (mathInline) Trigger() []byte { return []byte{'\\', '$'} }

func (mathInline) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	for _, mark := range mathMarks {
		if !bytes.HasPrefix(line, []byte(mark.open)) {
			continue
		}
		n := bytes.Index(line[len(mark.open):], []byte(mark.end))
		if n <= 0 {
			return nil
		}
		whole := line[:len(mark.open)+n+len(mark.end)]
		if mark.open == "$" && !isMath(block.PrecendingCharacter(), whole[1:1+n], line[len(whole):]) {
			return nil
		}
		block.Advance(len(whole))
		return &Math{Source: string(whole)}
	}
	return nil
}

// isMath reports whether the text between single dollar signs is a formula, and not part of two prices or of two
// names of variables.
func isMath(before rune, inside, after []byte) bool {
	next, _ := utf8.DecodeRune(after)
	if inside[0] == ' ' || inside[len(inside)-1] == ' ' || '0' <= next && next <= '9' {
		return false
	}
	if bytes.ContainsAny(inside, `\^_={}`) {
		return true
	}
	return !isWord(before) && !isWord(next) && (!words.Match(inside) || product.Match(inside))
}

// words matches what holds a word; without any mark of TeX it is not a formula, unless it is a product, or names
// points of a figure.
var (
	words   = regexp.MustCompile(`\pL{2}`)
	product = regexp.MustCompile(`^(?:[a-z]{2}|[A-Z]{2,4})$`)
)

// mathBlock parses formulas that begin a line, up to the line with their end mark. An empty line
// also ends them, as in TeX.
type mathBlock struct{}

func (mathBlock) Trigger() []byte { return []byte{'\\', '$'} }

func (mathBlock) Open(_ ast.Node, reader text.Reader, _ parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	end := mathEnd(line)
	if end == "" {
		return nil, parser.NoChildren
	}
	rest := bytes.TrimSpace(line)[2:]
	if at := bytes.Index(rest, []byte(end)); at >= 0 && len(bytes.TrimSpace(rest[at+2:])) > 0 {
		return nil, parser.NoChildren // a formula at the start of a sentence
	}
	m := &MathBlock{}
	m.Lines().Append(segment)
	reader.AdvanceToEOL()
	return m, parser.NoChildren
}

func (mathBlock) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	lines := node.Lines()
	first, last := lines.At(0), lines.At(lines.Len()-1)
	opening := bytes.TrimSpace(first.Value(reader.Source()))
	before := bytes.TrimSpace(last.Value(reader.Source()))
	if lines.Len() == 1 {
		before = before[2:]
	}
	line, segment := reader.PeekLine()
	if bytes.HasSuffix(before, []byte(mathEnd(opening))) || len(bytes.TrimSpace(line)) == 0 {
		return parser.Close
	}
	lines.Append(segment)
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

func (mathBlock) Close(ast.Node, text.Reader, parser.Context) {}

func (mathBlock) CanInterruptParagraph() bool { return true }

func (mathBlock) CanAcceptIndentedLine() bool { return false }

// mathEnd returns the end mark of the formula that begins on a line; empty if none begins there.
func mathEnd(line []byte) string {
	line = bytes.TrimSpace(line)
	for _, mark := range mathMarks[:2] {
		if bytes.HasPrefix(line, []byte(mark.open)) {
			return mark.end
		}
	}
	return ""
}
