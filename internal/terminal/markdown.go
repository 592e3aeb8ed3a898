package terminal

import (
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/parser"

	"molar/internal/markdown"
)

// longBlock is the size, in bytes, above which a part that can still change as a whole, such
// as a table, is re-rendered only when it has grown by a thirty-second, or at a Flush:
// otherwise the cost of a long one is quadratic.
const longBlock = 2 << 10

// A Markdown shows Markdown on a terminal while it streams. Finished parts stay unchanged; the
// open part is re-rendered with every piece, and only changed lines are written again. It is
// not safe for concurrent use.
type Markdown struct {
	w     io.Writer
	size  func() (columns, rows int)
	parse parser.Parser

	partial  string   // the incomplete last character of the previous piece
	open     string   // source of the part that can still change
	pending  int      // bytes of it that are not on the screen
	before   sheet    // whose last part it begins with
	onScreen []string // the lines of open on the screen; the cursor is at the end of the last one
	wide     int      // columns when they were shown
	began    bool     // a block was closed before
}

// NewMarkdown returns a Markdown that writes to a terminal; size returns its current columns
// and rows.
func NewMarkdown(w io.Writer, size func() (columns, rows int)) *Markdown {
	return &Markdown{w: w, size: size, parse: markdown.New().Parser()}
}

// Write shows a piece of text, which is cleaned first. A piece may end within a character.
func (m *Markdown) Write(text string) error {
	text, m.partial = wholeCharacters(m.partial + text)
	text = Clean(text)
	m.open += text
	if m.pending += len(text); len(m.open) > longBlock && m.pending < len(m.open)/32 {
		return nil
	}
	return m.Flush()
}

// wholeCharacters splits off an incomplete last character.
func wholeCharacters(text string) (whole, torn string) {
	for i := len(text) - 1; i >= 0 && i > len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRuneInString(text[i:]) {
				return text[:i], text[i:]
			}
			break
		}
	}
	return text, ""
}

// Flush shows the part of a long block that Write held back.
func (m *Markdown) Flush() error {
	m.pending = 0
	if !m.began && m.onScreen == nil {
		m.open = strings.TrimLeftFunc(m.open, unicode.IsSpace)
	}
	closed, open := markdown.Split(m.open)
	if closed != "" {
		if _, err := m.paint(closed); err != nil {
			return err
		}
		m.began = m.began || m.onScreen != nil
		m.open, m.onScreen, m.before = open, nil, sheet{}
	}
	s, err := m.paint(m.open)
	if err == nil && s.cut > 0 {
		m.open, m.onScreen, m.before = s.head+m.open[s.cut:], m.onScreen[s.tail:], s
	}
	return err
}

// Close ends the text with a line feed. A Markdown may be written to again, as a new
// text.
func (m *Markdown) Close() error {
	m.open += Clean(m.partial) // its other bytes never came
	_, err := m.paint(m.open)
	if err == nil && (m.began || m.onScreen != nil) {
		_, err = io.WriteString(m.w, "\r\n")
	}
	m.partial, m.open, m.pending, m.before, m.onScreen, m.began = "", "", 0, sheet{}, nil, false
	return err
}

// SetApart ends the text like Close, and dims the part that could still change.
func (m *Markdown) SetApart() error {
	if err := m.Flush(); err != nil {
		return err
	}
	if len(m.onScreen) > 0 {
		columns, rows := m.size()
		var b strings.Builder
		from := m.rewind(&b, 0, columns, rows)
		for i, line := range m.onScreen[from:] {
			if i > 0 {
				b.WriteString("\r\n")
			}
			b.WriteString(dim.on(unstyled(line)))
		}
		if _, err := io.WriteString(m.w, b.String()); err != nil {
			return err
		}
	}
	return m.Close()
}

// paint updates the lines on the screen to those of the source, in one write.
func (m *Markdown) paint(source string) (sheet, error) {
	columns, rows := m.size()
	if strings.TrimSpace(source) == "" {
		return sheet{}, nil
	}
	s := render(m.parse, source, max(columns-1, 8), m.before) // the last column would wrap the cursor
	lines := s.lines
	if len(lines) == 0 {
		if m.onScreen == nil {
			return s, nil
		}
		lines = []string{""} // the former text has become the start of something else
	}
	same := 0
	for same < len(lines) && same < len(m.onScreen) && lines[same] == m.onScreen[same] {
		same++
	}
	if same == len(lines) && same == len(m.onScreen) {
		return s, nil
	}
	if last := len(m.onScreen) - 1; same == last && len(lines) > last && strings.HasPrefix(lines[last], m.onScreen[last]) {
		// The usual piece only appends to the text before the cursor.
		more := lines[last][len(m.onScreen[last]):] + strings.Join(append([]string{""}, lines[last+1:]...), "\r\n")
		m.onScreen, m.wide = lines, columns
		_, err := io.WriteString(m.w, more)
		return s, err
	}
	if len(m.onScreen) > len(lines) { // the cursor must end after the last line
		same = min(same, len(lines)-1)
	}
	var b strings.Builder
	same = m.rewind(&b, same, columns, rows)
	for i := same; i < len(lines); i++ {
		if i > same {
			b.WriteString("\r\n")
		}
		b.WriteString(lines[i])
	}
	m.onScreen, m.wide = lines, columns
	_, err := io.WriteString(m.w, b.String())
	return s, err
}

// rewind moves the cursor from the end of the shown lines to the start of the first changed
// one, and clears from there. It returns that line: those that have scrolled off stay as they
// were. After the window has become narrower, a line takes several rows.
func (m *Markdown) rewind(b *strings.Builder, from, columns, rows int) int {
	if m.onScreen == nil {
		if m.began {
			b.WriteString("\r\n\r\n") // an empty line between blocks
		}
		return from
	}
	if from >= len(m.onScreen) { // only new lines
		b.WriteString("\r\n")
		return from
	}
	up, line := 0, len(m.onScreen)
	for line > from {
		height := 1
		if columns < m.wide {
			height = max(1, (Width(unstyled(m.onScreen[line-1]))+columns-1)/columns)
		}
		if line < len(m.onScreen) && up+height > max(rows-1, 1) {
			break
		}
		up, line = up+height, line-1
	}
	if up--; up > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(up) + "A")
	}
	b.WriteString("\r\x1b[J")
	return line
}
