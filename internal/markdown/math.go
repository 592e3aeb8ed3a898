package markdown

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// A Math is a formula within a paragraph, as TeX between \( and \), between dollar signs, or in an environment.
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
type MathBlock struct {
	ast.BaseBlock
	mark  mathMark
	text  string // the lines read, as far as an end is looked for
	whole bool   // the end mark has been read
	loose bool   // empty lines do not end it
}

// kindMathBlock is the kind of [MathBlock].
var kindMathBlock = ast.NewNodeKind("MathBlock")

// Kind implements [ast.Node].
func (*MathBlock) Kind() ast.NodeKind { return kindMathBlock }

// IsRaw implements [ast.Node].
func (*MathBlock) IsRaw() bool { return true }

// Dump implements [ast.Node].
func (m *MathBlock) Dump(source []byte, level int) { ast.DumpHelper(m, source, level, nil, nil) }

// A mathMark is the pair of marks around a formula.
type mathMark struct{ open, end string }

// mathMarks are the marks around formulas, the longer ones first.
var mathMarks = []mathMark{{`\[`, `\]`}, {`$$`, `$$`}, {`\(`, `\)`}, {`$`, `$`}}

// environment matches the start of a formula without other marks.
var environment = regexp.MustCompile(`^\\begin(\{[A-Za-z]{1,32}\*?\})`)

// markAt returns the marks of the formula that begins a text; none if none begins there.
func markAt(text string) mathMark {
	for _, mark := range mathMarks {
		if strings.HasPrefix(text, mark.open) {
			return mark
		}
	}
	if found := environment.FindStringSubmatch(text); found != nil {
		return mathMark{found[0], `\end` + found[1]}
	}
	return mathMark{}
}

// The lengths, in bytes, up to which the end of a formula is looked for; with empty lines in it, up to farLoose.
const farthest, farLoose = 8 << 10, 4000

// holdsCode reports whether a text has a mark of code. No formula has one, so that all that read a text, such as the
// checks of its links, agree on what is code.
func holdsCode(text string) bool {
	return strings.Contains(text, "`") || strings.Contains(text, "~~~")
}

// length returns the length of the formula that begins a text, with its marks; 0 if its end is not there.
func (m mathMark) length(text string) int {
	text = text[:min(len(text), farthest)]
	depth := 0
	for i := len(m.open); i < len(text); i++ {
		switch rest := text[i:]; {
		case strings.HasPrefix(rest, m.end):
			if depth--; depth < 0 && !holdsCode(text[:i]) {
				return i + len(m.end)
			} else if depth < 0 {
				return 0
			}
		case m.open != m.end && strings.HasPrefix(rest, m.open):
			depth++
		case rest[0] == '\\':
			i++ // what is behind a backslash is no mark
		}
	}
	return 0
}

// mathInline parses formulas within a paragraph, before their backslashes and underscores are
// parsed as Markdown.
type mathInline struct{}

func (mathInline) Trigger() []byte { return []byte{'\\', '$'} }

func (mathInline) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	mark := markAt(string(line))
	if mark.open == "" {
		return nil
	}
	before := block.PrecendingCharacter()
	number, at := block.Position()
	source, rest := "", string(line)
	for { // find the end, for a single dollar sign in the same line
		source += rest
		if n := mark.length(source); n > 0 {
			n -= len(source) - len(rest)
			source, rest = source[:len(source)-len(rest)+n], rest[n:]
			block.Advance(n)
			break
		}
		block.AdvanceLine()
		if line, _ = block.PeekLine(); line == nil || mark.open == "$" || len(source) > farthest {
			return nil
		}
		rest = string(line)
	}
	if !mark.isMath(before, source[len(mark.open):len(source)-len(mark.end)], rest) {
		block.SetPosition(number, at)
		return nil
	}
	for p := parent; p != nil; p = p.Parent() {
		if p.Kind() == tables.KindTableCell {
			source = strings.ReplaceAll(source, `\|`, "|") // the escape of a cell
		}
	}
	return &Math{Source: source}
}

// isMath reports whether the text between marks is a formula. Between dollar signs, it is not part of prices or of
// names of variables.
func (m mathMark) isMath(before rune, inside, after string) bool {
	next, size := utf8.DecodeRuneInString(after)
	second, _ := utf8.DecodeRuneInString(after[size:])
	letters := strings.IndexFunc(inside, isWord) >= 0
	prose := words.MatchString(inside) && !product.MatchString(inside)
	switch spaced := strings.HasPrefix(inside, " "); {
	case inside == "":
		return false
	case m.open == "$$":
		return before != '$' && next != '$' && letters && (!prose || strings.ContainsAny(inside, `\^_={}&`))
	case m.open != "$":
		return m.open[1] != 'b' || strings.ContainsAny(inside, `\^_=&`)
	case before == '$', '0' <= next && next <= '9', next == '{', spaced != strings.HasSuffix(inside, " "):
		return false
	case spaced:
		return command.MatchString(inside) || strings.IndexFunc(inside, unicode.IsLetter) >= 0 && !prose
	case isJoined(next): // as in the nth
		ending := unicode.IsLower(next) && unicode.IsLower(second) && strings.IndexFunc(inside, unicode.IsLetter) >= 0
		return command.MatchString(inside) || ending && !prose && !isJoined(before)
	case strings.ContainsAny(inside, `\^_={}`):
		return true
	}
	return !isJoined(before) && !prose
}

// words matches what holds a word; without any mark of TeX it is not a formula, unless it is a product, or names
// points of a figure. command matches what only TeX has.
var (
	words   = regexp.MustCompile(`\pL{2}`)
	product = regexp.MustCompile(`^ ?(?:[a-z]{2}|[A-Z]{2,4}) ?$`)
	command = regexp.MustCompile(`\\[A-Za-z]|\^`)
)

// isJoined reports whether a character would make one word with the character beside it. Some scripts have no
// spaces between words.
func isJoined(r rune) bool {
	return isWord(r) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// mathBlock parses formulas that begin a line, up to the line with their end mark. An empty line also ends them, as
// in TeX, unless a line of its own began them.
type mathBlock struct{}

func (mathBlock) Trigger() []byte { return []byte{'\\', '$'} }

func (mathBlock) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	first, segment := reader.PeekLine()
	line := strings.TrimSpace(string(first))
	mark, loose := blockMark(line)
	if mark.open == "" || holdsCode(line) || pc.BlockIndent() > 3 && line != mark.open {
		return nil, parser.NoChildren
	}
	if above, ok := pc.LastOpenedBlock().Node.(*ast.Paragraph); ok && endsInFormula(above.Lines(), reader.Source()) {
		return nil, parser.NoChildren
	}
	far := loose && mark.reach(string(reader.Source()[segment.Start:])) < 0
	n := mark.length(line)
	if n > 0 && !isPunctuation(line[n:]) || far && line != mark.open {
		return nil, parser.NoChildren // a formula at the start of a sentence, or an environment without an end
	}
	m := &MathBlock{mark: mark, text: strings.TrimLeft(string(first), " \t"), whole: n > 0, loose: loose && !far}
	m.Lines().Append(segment)
	reader.AdvanceToEOL()
	return m, parser.NoChildren
}

func (mathBlock) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	m, ok := node.(*MathBlock)
	line, segment := reader.PeekLine()
	if !ok || m.whole || !m.loose && len(bytes.TrimSpace(line)) == 0 || holdsCode(string(line)) {
		return parser.Close
	}
	if before := len(m.text); before < farthest {
		m.text += string(line)
		n := m.mark.length(m.text) - before
		m.whole = n > 0
		if m.whole && !isPunctuation(string(line[n:])) { // a sentence goes on
			m.Lines().Append(segment.WithStop(segment.Start + n - segment.Padding))
			reader.Advance(n)
			return parser.Close
		}
	}
	m.Lines().Append(segment)
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

func (mathBlock) Close(ast.Node, text.Reader, parser.Context) {}

func (mathBlock) CanInterruptParagraph() bool { return true }

func (mathBlock) CanAcceptIndentedLine() bool { return true }

// blockMark returns the marks of the formula that begins on a line; none if none does. loose means that it may have
// empty lines.
func blockMark(line string) (mark mathMark, loose bool) {
	mark = markAt(line)
	rest := strings.TrimPrefix(line, mark.open)
	switch mark.open {
	case "", "$", `\(`:
		return mathMark{}, false
	case "$$":
		if rest != "" && !mark.isMath(0, strings.TrimRight(rest, "$"), "") {
			return mathMark{}, false // a price
		}
	}
	return mark, rest == "" || mark.open[1] == 'b'
}

// reach returns the length of the formula that begins a text: 0 if its end may come later, negative if it is too far
// away.
func (m mathMark) reach(text string) int {
	n := m.length(text[:min(len(text), farLoose)])
	if n == 0 && (len(text) >= farLoose || holdsCode(text)) {
		return -1
	}
	return n
}

// endsInFormula reports whether the next of some lines belongs to a formula that began in them.
func endsInFormula(lines *text.Segments, source []byte) bool {
	above := ""
	for i := lines.Len() - 1; i >= 0 && len(above) < farthest; i-- {
		line := lines.At(i)
		above = string(line.Value(source)) + above
	}
	for i, n := 0, 0; i < len(above); i += n {
		rest := above[i:]
		n = 1
		switch mark := markAt(rest); {
		case rest[0] == '`':
			n = len(rest) - len(strings.TrimLeft(rest, "`"))
			if end := strings.Index(rest[n:], rest[:n]); end >= 0 {
				n += end + n
			}
		case mark.open != "" && mark.open != "$":
			if n = mark.length(rest); n == 0 {
				return true
			}
		case rest[0] == '\\':
			n = 2
		}
	}
	return false
}

// isPunctuation reports whether a text can stand behind a formula on its line.
func isPunctuation(text string) bool { return strings.Trim(text, " \t\r\n.,;:!?") == "" }
