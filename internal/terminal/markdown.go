package terminal

import (
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/parser"

	"molar/internal/markdown"
)

// A Markdown shows Markdown on a terminal while it streams. Closed blocks stay as
// they are; the open one is set anew with every piece, and only the lines that
// changed are written again. It is not safe for concurrent use.
type Markdown struct {
	w     io.Writer
	size  func() (columns, rows int)
	parse parser.Parser

	open  string   // source of the blocks that are not closed
	shown []string // the lines of open on the screen; the cursor is at the end of the last one
	began bool     // a block was closed before
}

// NewMarkdown returns a Markdown that writes to a terminal; size gives its present
// columns and rows.
func NewMarkdown(w io.Writer, size func() (columns, rows int)) *Markdown {
	return &Markdown{w: w, size: size, parse: markdown.New().Parser()}
}

// Write shows a piece of text, which is cleaned first.
func (m *Markdown) Write(text string) error {
	m.open += Clean(text)
	if !m.began && m.shown == nil {
		m.open = strings.TrimLeftFunc(m.open, unicode.IsSpace)
	}
	closed, open := markdown.Split(m.open)
	if closed != "" {
		if err := m.paint(closed); err != nil {
			return err
		}
		m.began = m.began || m.shown != nil
		m.open, m.shown = open, nil
	}
	return m.paint(m.open)
}

// Close ends the text with a line feed. A Markdown may be written to again, as a new
// text.
func (m *Markdown) Close() error {
	err := m.paint(m.open)
	if err == nil && (m.began || m.shown != nil) {
		_, err = io.WriteString(m.w, "\r\n")
	}
	m.open, m.shown, m.began = "", nil, false
	return err
}

// paint brings the lines on the screen to those of the source. The whole change is
// one write.
func (m *Markdown) paint(source string) error {
	columns, rows := m.size()
	if strings.TrimSpace(source) == "" {
		return nil
	}
	lines := render(m.parse, source, max(columns-1, 8)) // the last column would wrap the cursor
	if len(lines) == 0 {
		if m.shown == nil {
			return nil
		}
		lines = []string{""} // what was text has become the start of something else
	}
	same := 0
	for same < len(lines) && same < len(m.shown) && lines[same] == m.shown[same] {
		same++
	}
	if same == len(lines) && same == len(m.shown) {
		return nil
	}
	if last := len(m.shown) - 1; same == last && len(lines) > last && strings.HasPrefix(lines[last], m.shown[last]) {
		// The usual piece only adds to what stands before the cursor.
		more := lines[last][len(m.shown[last]):] + strings.Join(append([]string{""}, lines[last+1:]...), "\r\n")
		m.shown = lines
		_, err := io.WriteString(m.w, more)
		return err
	}
	if len(m.shown) > len(lines) { // the cursor must end behind the last line
		same = min(same, len(lines)-1)
	}
	var b strings.Builder
	m.rewind(&b, same, rows)
	same = max(same, len(m.shown)-max(rows-1, 1))
	for i := same; i < len(lines); i++ {
		if i > same {
			b.WriteString("\r\n")
		}
		b.WriteString(lines[i])
	}
	m.shown = lines
	_, err := io.WriteString(m.w, b.String())
	return err
}

// rewind moves the cursor from the end of what is shown to the start of the line
// from which on it changes, and clears from there. Lines that have left the screen
// stay as they were.
func (m *Markdown) rewind(b *strings.Builder, from, rows int) {
	if m.shown == nil {
		if m.began {
			b.WriteString("\r\n\r\n") // an empty line between blocks
		}
		return
	}
	if from >= len(m.shown) { // only new lines
		b.WriteString("\r\n")
		return
	}
	up := min(len(m.shown)-1-from, max(rows-1, 1)-1)
	if up > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(up) + "A")
	}
	b.WriteString("\r\x1b[J")
}
