package wire

import "strings"

// codeblocks follows the Markdown of an answer byte by byte, to tell what is code: blocks between
// fences, indented blocks, and code within a paragraph (CommonMark 0.31.2, sections 4.4, 4.5, 6.1).
// The zero value is at the beginning of the answer.
type codeblocks struct {
	fence     int  // the length of the open fence, or 0
	mark      byte // its character
	info      bool // in its first line
	code      int  // the length of the backticks that opened code in a paragraph, or 0
	run       int  // the length of the run of marks just passed
	inRun     byte // its character
	words     bool // the line has more than blanks and marks of lists and quotations
	written   bool // the line has more than blanks
	indent    int  // the columns of blanks before that
	indented  bool // the line is code by its indentation
	paragraph bool // a line came before
}

// is reports whether the byte c would be code if it came next.
func (m *codeblocks) is(c byte) bool {
	m.endRun(c)
	return m.fence > 0 || m.code > 0 || m.indented || !m.written && m.paragraph && m.indent >= 4
}

// passAll passes text.
func (m *codeblocks) passAll(text string) {
	if m.words && m.run == 0 && strings.IndexByte(text, '`') < 0 && strings.IndexByte(text, '\n') < 0 && strings.IndexByte(text, '~') < 0 {
		return // the most of prose changes nothing
	}
	for i := range len(text) {
		m.pass(text[i])
	}
}

// pass passes a byte.
func (m *codeblocks) pass(c byte) {
	if m.inRun != c {
		m.endRun(c)
	}
	if !m.written && c != ' ' && c != '\t' && c != '\r' && c != '\n' {
		m.written, m.indented = true, m.paragraph && m.indent >= 4
	}
	switch c {
	case '`', '~':
		m.inRun = c
		m.run++
	case '\n':
		if !m.written {
			m.code = 0 // code does not go on after a paragraph
		}
		m.paragraph = m.paragraph || m.written
		m.words, m.written, m.info, m.indent, m.indented = false, false, false, 0, false
	case ' ':
		m.blank(1)
	case '\t':
		m.blank(4)
	case '\r':
	case '>', '-', '*', '+', '.', ')', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
	default:
		m.words = true
	}
}

func (m *codeblocks) blank(columns int) {
	if !m.written {
		m.indent += columns
	}
}

// endRun applies the run of marks before the byte c.
func (m *codeblocks) endRun(c byte) {
	n, mark := m.run, m.inRun
	if n == 0 {
		return
	}
	m.run, m.inRun = 0, 0
	first := !m.words
	m.words = true
	switch {
	case m.fence > 0 && mark == m.mark && n >= m.fence && (m.info || first && (c == '\n' || c == '\r' || c == ' ' || c == '\t')):
		m.fence = 0
	case m.fence > 0:
	case m.code == 0 && first && n >= 3:
		m.fence, m.mark, m.info = n, mark, true
	case mark == '~':
	case m.code == 0:
		m.code = n
	case m.code == n:
		m.code = 0
	}
}
