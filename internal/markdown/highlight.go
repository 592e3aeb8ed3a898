package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Kind is what a part of code is.
type Kind int

// The kinds of parts.
const (
	Plain Kind = iota
	Comment
	String
	Number
	Keyword
	// Key names a value, as in JSON.
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

// A Code reads one listing from its first line on.
type Code struct {
	syntax
	// until ends the comment or string that began on a line before, of the kind within.
	until  string
	within Kind
}

// Of returns a reader of a language, by the name that stands behind a fence. Of one that
// it does not know, all is plain.
func Of(language string) *Code {
	return &Code{syntax: syntaxOf(strings.ToLower(language))}
}

// Known reports whether the language is known.
func (c *Code) Known() bool { return len(c.comments)+len(c.blocks)+len(c.quotes) > 0 }

// Line parts the next line, which is given without its end.
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

// next is what begins at a place of the line, and its length in bytes.
func (c *Code) next(line string, at int) (Kind, int) {
	rest := line[at:]
	if c.until != "" {
		return c.within, c.toEnd(rest, 0)
	}
	if kind, n := c.marked(line, at); n > 0 {
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

// marked is a comment, or a string that may take several lines.
func (c *Code) marked(line string, at int) (Kind, int) {
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

// toEnd is how much of the line still belongs to what until ends, from a place on.
func (c *Code) toEnd(rest string, from int) int {
	n := strings.Index(rest[from:], c.until)
	if n < 0 {
		return len(rest)
	}
	n += from + len(c.until)
	c.until = ""
	return n
}

// word is a keyword, a key or a plain word.
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

// isBefore reports whether one of the marks follows, behind spaces. That of an address or
// of a comparison is none.
func isBefore(rest string, marks ...string) bool {
	rest = strings.TrimLeft(rest, " ")
	for _, mark := range marks {
		if after, found := strings.CutPrefix(rest, mark); found {
			return !strings.HasPrefix(after, "//") && !strings.HasPrefix(after, "=")
		}
	}
	return false
}

// quoted is the length of the string that a line begins with, 0 if it is not closed there.
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

// A partList joins neighbours of one kind.
type partList []Part

func (l *partList) add(text string, kind Kind) {
	if last := len(*l) - 1; last >= 0 && (*l)[last].Kind == kind {
		(*l)[last].Text += text
		return
	}
	*l = append(*l, Part{text, kind})
}
