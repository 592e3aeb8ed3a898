package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Kind is the kind of a part of code.
type Kind int

// The kinds of parts.
const (
	Plain Kind = iota
	Comment
	String
	Number
	Keyword
	// Key is the name of a value, as in JSON.
	Key
)

// String returns the name of the kind in lower case.
func (k Kind) String() string {
	return [...]string{"plain", "comment", "string", "number", "keyword", "key"}[k]
}

// A Part is a piece of a line.
type Part struct {
	Text string
	Kind Kind
}

// A Code splits the lines of one code block, in order, into parts.
type Code struct {
	syntax
	// until is the end mark of a comment or string that began on an earlier line, and within its
	// kind; empty outside of one.
	until  string
	within Kind
}

// NewCode returns a Code for the language with the name, as after the opening fence. All parts of
// an unknown language are plain.
func NewCode(language string) *Code {
	return &Code{syntax: syntaxOf(strings.ToLower(language))}
}

// Known reports whether the language is known.
func (c *Code) Known() bool { return len(c.comments)+len(c.blocks)+len(c.quotes) > 0 }

// Line splits the next line, without its line end, into parts.
func (c *Code) Line(line string) []Part {
	if !c.Known() {
		return []Part{{line, Plain}}
	}
	var parts partList
	for at := 0; at < len(line); {
		kind, n := c.next(line, at)
		parts.add(line[at:at+n], kind)
		at += n
	}
	return parts
}

// next returns the kind and the length, in bytes, of the part that begins at a place of the line.
func (c *Code) next(line string, at int) (Kind, int) {
	rest := line[at:]
	if c.until != "" {
		return c.within, c.toEnd(rest, 0)
	}
	if kind, n := c.delimited(line, at); n > 0 {
		return kind, n
	}
	first, size := utf8.DecodeRuneInString(rest)
	switch {
	case strings.ContainsRune(c.quotes, first):
		if n := quoted(rest); n > 0 {
			if c.keys && isBefore(rest[n:], ":") {
				return Key, n
			}
			return String, n
		}
	case unicode.IsDigit(first):
		return Number, len(rest) - len(strings.TrimLeftFunc(rest, func(r rune) bool { return isWord(r) || r == '.' }))
	case isWord(first):
		return c.word(line, at)
	}
	return Plain, size
}

// delimited is next for comments, and for strings that may extend over several lines; the length is
// 0 if none begins there.
func (c *Code) delimited(line string, at int) (Kind, int) {
	rest := line[at:]
	for _, b := range c.blocks {
		if strings.HasPrefix(rest, b.open) {
			c.until, c.within = b.end, b.kind
			return b.kind, c.toEnd(rest, len(b.open))
		}
	}
	for _, mark := range c.comments {
		// A # within a word is not a comment.
		if strings.HasPrefix(rest, mark) && (mark != "#" || at == 0 || line[at-1] == ' ' || line[at-1] == '\t') {
			return Comment, len(rest)
		}
	}
	return Plain, 0
}

// toEnd returns the length of the part up to the mark in until, which is searched from a place on,
// or to the end of the line.
func (c *Code) toEnd(rest string, from int) int {
	n := strings.Index(rest[from:], c.until)
	if n < 0 {
		return len(rest)
	}
	n += from + len(c.until)
	c.until = ""
	return n
}

// word is next for keywords, keys and plain words.
func (c *Code) word(line string, at int) (Kind, int) {
	rest := line[at:]
	n := len(rest) - len(strings.TrimLeftFunc(rest, func(r rune) bool { return isWord(r) || c.dashes && r == '-' }))
	word := rest[:n]
	if c.folds {
		word = strings.ToLower(word)
	}
	named := strings.HasSuffix(line[:at], "<") || strings.HasSuffix(line[:at], "</")
	switch {
	case c.keys && isBefore(rest[n:], ":", "="), c.tags && !named && isBefore(rest[n:], "="):
		return Key, n
	case c.tags && named, c.is(word):
		return Keyword, n
	}
	return Plain, n
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// isBefore reports whether one of the marks follows, after spaces. The colon of an address and the
// equals sign of a comparison do not count.
func isBefore(rest string, marks ...string) bool {
	rest = strings.TrimLeft(rest, " ")
	for _, mark := range marks {
		if after, found := strings.CutPrefix(rest, mark); found {
			return !strings.HasPrefix(after, "//") && !strings.HasPrefix(after, "=")
		}
	}
	return false
}

// quoted returns the length of the string with which the line begins; 0 if it is not closed there.
func quoted(line string) int {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case line[0]:
			return i + 1
		}
	}
	return 0
}

// A partList joins adjacent parts of one kind.
type partList []Part

func (l *partList) add(text string, kind Kind) {
	if last := len(*l) - 1; last >= 0 && (*l)[last].Kind == kind {
		(*l)[last].Text += text
		return
	}
	*l = append(*l, Part{text, kind})
}
