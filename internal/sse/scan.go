package sse

import "bytes"

// An array splits the text of a JSON array into its objects as it arrives.
type array struct {
	bare    bool   // the text is a single object, not an array
	rest    []byte // the text that was not returned yet
	scanned int    // length of the part of rest that was scanned
	scan    Scan
}

// next returns the next complete object, or nil. It is valid until more text is added.
func (a *array) next() []byte {
	if a.scanned == 0 {
		a.rest = bytes.TrimLeft(a.rest, " \t\r\n,]")
		a.scan = Scan{}
	}
	for ; a.scanned < len(a.rest); a.scanned++ {
		if a.scan.add(a.rest[a.scanned]); a.scan.Whole() {
			element := a.rest[:a.scanned+1]
			a.rest, a.scanned = a.rest[a.scanned+1:], 0
			return element
		}
	}
	return nil
}

// end returns the remaining text at the end of the stream.
func (a *array) end() []byte {
	rest := bytes.Trim(a.rest, " \t\r\n,]")
	a.rest = nil
	return rest
}

// A Scan tracks the nesting of JSON text as it arrives, to find the end of an object in one pass.
type Scan struct {
	depth            int
	begun            bool
	inString, escape bool
}

// Whole reports whether an object is complete.
func (s *Scan) Whole() bool { return s.begun && s.depth == 0 }

// Add scans more text.
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
