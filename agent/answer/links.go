package answer

import (
	"strings"

	"molar/internal/markdown"
	"molar/internal/text"
)

// maxLine bounds a line whose end is awaited, in bytes; a longer one is broken.
const maxLine = 64 << 10

// LinksConfig configures a [Links].
type LinksConfig struct {
	// Private reports whether the prompt holds private text now; nil means always.
	Private func() bool
	// Known reports whether exactly this address stood in the conversation; nil means never.
	Known func(address string) bool
}

// Links changes what in a stream of Markdown would send text to a server by itself or by one click. An
// image of another host becomes a link. With private text in the prompt only known addresses are
// links; anything else that looks like an address is shown as text, and so is what could not be read
// whole.
//
// Text passes at once, except from the first sign of an address to the end of its line: then the page's
// parser reads the line. What it finds on one line is kept; what a client could join over several
// lines, or read otherwise, is broken. Code passes if it is code for every client.
type Links struct {
	cfg     LinksConfig
	inlines *markdown.Inlines // nil until a line needs it

	line strings.Builder // the line so far
	sent int             // bytes of it already shown
	last byte            // the last byte shown
	cr   bool            // a carriage return came last
	json bool            // the text is a JSON value

	// fence is the mark of the open code block, and indent its column; empty outside of code.
	fence  string
	indent int
	// nested is set while a quotation or list may have code open, lost once it is unknown whether
	// code is open. Nothing then counts as code.
	nested, lost bool
	// murky is set while HTML or a formula may be open, which end at an empty line.
	murky bool
	// defined is set after a definition, whose title may follow.
	defined bool
}

// NewLinks returns a filter.
func NewLinks(cfg LinksConfig) *Links {
	return &Links{cfg: cfg, last: '\n'}
}

// Pass returns the text that may be shown after the next piece. A nil filter passes everything.
func (l *Links) Pass(piece string) string {
	if l == nil {
		return piece
	}
	piece = l.lineEnds(piece)
	if piece == "" {
		return ""
	}
	if strings.IndexByte(piece, '\n') < 0 && l.line.Len()+len(piece) <= maxLine { // most pieces end no line
		l.line.WriteString(piece)
		return l.advance()
	}
	var out strings.Builder
	for rest := piece; rest != ""; {
		line, after, ended := strings.Cut(rest, "\n")
		if n := text.Border(line, maxLine-l.line.Len()); n < len(line) {
			line, after, ended = rest[:n], rest[n:], true
		}
		l.line.WriteString(line)
		rest = after
		out.WriteString(l.advance())
		if ended {
			out.WriteString(l.show(l.end() + "\n"))
		}
	}
	return out.String()
}

// Rest ends the stream and returns the buffered text. It closes an open code block, so that what
// follows is read alike whether a client joins it or not.
func (l *Links) Rest() string {
	if l == nil {
		return ""
	}
	if l.json {
		text := l.line.String()
		l.line.Reset()
		return l.withoutAddresses(text)
	}
	var out strings.Builder
	if l.cr {
		l.cr = false
		out.WriteString(l.Pass("\n"))
	}
	out.WriteString(l.advance())
	out.WriteString(l.show(l.end()))
	if l.fence != "" {
		if l.last != '\n' {
			out.WriteString("\n")
		}
		out.WriteString(l.show(l.closing()))
	}
	l.murky = true
	return out.String()
}

// show returns a text that is shown now.
func (l *Links) show(text string) string {
	if text != "" {
		l.last = text[len(text)-1]
	}
	return text
}

// lineEnds returns a text with the line ends that all clients know.
func (l *Links) lineEnds(text string) string {
	if text == "" || !l.cr && strings.IndexByte(text, '\r') < 0 {
		return text
	}
	if l.cr {
		text = "\r" + text
	}
	if l.cr = strings.HasSuffix(text, "\r"); l.cr {
		text = text[:len(text)-1]
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// advance returns what may be shown now of the line so far.
func (l *Links) advance() string {
	line, sent := l.line.String(), l.sent
	n := len(line)
	switch {
	case n == sent:
	case l.fence == "":
		n = l.passing(line, sent)
	case sent == 0 && (column(line) < l.indent || strings.Trim(line, "`~ \t") == ""): // it may end the code
		n = 0
	}
	l.sent = n
	return l.show(line[sent:n])
}

// end returns the rest of the finished line.
func (l *Links) end() string {
	line, sent := l.line.String(), l.sent
	l.line, l.sent = strings.Builder{}, 0
	trimmed := strings.Trim(line, " \t")
	if l.fence == "" {
		return l.text(line, trimmed, sent)
	}
	switch {
	case strings.HasPrefix(trimmed, l.fence) && strings.Trim(trimmed, "`~") == "":
		return l.closing() // exactly: some clients end code also at other lines
	case trimmed != "" && column(line) < l.indent:
		return l.closing() + "\n" + l.text(line, trimmed, sent) // in a list, the code ends here
	}
	return line[sent:]
}

// closing returns the line that ends the open code block, and ends it.
func (l *Links) closing() string {
	line := strings.Repeat(" ", l.indent) + l.fence
	l.fence = ""
	return line
}

// text returns the rest of a line outside of code.
func (l *Links) text(line, trimmed string, sent int) string {
	if trimmed == "" {
		l.murky, l.defined = false, false
		return line[sent:]
	}
	if line == strings.TrimLeft(line, " \t>") {
		l.nested = false // it ends every quotation and list before it
	}
	if fence := fenceOf(trimmed); fence != "" {
		indent := column(line)
		switch {
		case l.lost || indent > 3:
			l.nested = true
		case l.nested:
			l.lost = true // the end of that code, or the beginning of other code
		default:
			before := ""
			if l.murky {
				before = "\n\n" + line[:sent] // of spaces
			}
			l.fence, l.indent, l.murky, l.defined = fence, indent, false, false
			return before + line[sent:]
		}
	}
	content := withoutContainers(trimmed)
	if content != trimmed && fenceOf(content) != "" {
		l.nested = true
	}
	out := l.rewritten(line, sent)
	l.murky = l.murky || strings.HasPrefix(content, "<") || strings.HasPrefix(content, "$$") || strings.HasPrefix(content, `\[`)
	return out
}

// column returns the width of the spaces before a line.
func column(line string) int {
	n := 0
	for i := range len(line) {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}

// fenceOf returns the mark with which a line opens a code block, or "".
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && (mark == "~" || !strings.Contains(rest, mark)) {
			return line[:n]
		}
	}
	return ""
}

// withoutContainers returns a line without anything that could be a mark of a quotation or of a list,
// or of a footnote.
func withoutContainers(line string) string {
	if _, note, found := strings.Cut(line, "]:"); found && strings.HasPrefix(line, "[^") {
		line = note
	}
	return strings.TrimLeft(line, " \t>-+*0123456789.)")
}
