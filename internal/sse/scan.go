package sse

import "bytes"

// An array reads the objects of a JSON array as its text arrives.
type array struct {
	bare bool   // one object alone, and no array
	rest []byte // what is not handed on yet
	seen int    // how much of it was looked at
	scan Scan
}

// next returns the next whole object, or nil. It is valid until more text is added.
func (a *array) next() []byte {
	if a.seen == 0 {
		a.rest = bytes.TrimLeft(a.rest, " \t\r\n,]")
		a.scan = Scan{}
	}
	for ; a.seen < len(a.rest); a.seen++ {
		if a.scan.add(a.rest[a.seen]); a.scan.Whole() {
			element := a.rest[:a.seen+1]
			a.rest, a.seen = a.rest[a.seen+1:], 0
			return element
		}
	}
	return nil
}

// end returns what is left when no more text comes.
func (a *array) end() []byte {
	rest := bytes.Trim(a.rest, " \t\r\n,]")
	a.rest = nil
	return rest
}

// A Scan follows the braces of JSON text as it arrives, so that the end of an object is
// known without reading it again.
type Scan struct {
	depth            int
	begun            bool
	inString, escape bool
}

// Whole reports whether an object has come to its end.
func (s *Scan) Whole() bool { return s.begun && s.depth == 0 }

// Add reads more of the text.
func (s *Scan) Add(text string) {
	for i := range len(text) {
		s.add(text[i])
	}
}

func (s *Scan) add(c byte) {
	switch {
	case s.escape:
		s.escape = false
	case s.inString && c == '\\':
		s.escape = true
	case c == '"':
		s.inString = !s.inString
	case s.inString:
	case c == '{' || c == '[':
		s.begun = true
		s.depth++
	case c == '}' || c == ']':
		s.depth = max(0, s.depth-1)
	}
}
