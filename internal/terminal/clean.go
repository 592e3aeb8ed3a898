package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean removes from foreign text what a terminal would execute instead of show: control
// characters of C0 and C1 except tab and line feed, the escape sequences that they begin
// (ECMA-48 section 5.4: CSI, OSC, DCS, SOS, PM, APC), marks that reorder text (Unicode TR9)
// and broken UTF-8. A sequence without an end takes only the rest of its line with it.
func Clean(text string) string {
	if !dirty(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
			i++
		case r == escape:
			i += size + sequence(text[i+size:])
		case r >= 0x80 && r <= 0x9f:
			i += size + afterC1(r, text[i+size:])
		case forbidden(r):
			i += size
		default:
			b.WriteString(text[i : i+size])
			i += size
		}
	}
	return b.String()
}

const (
	escape = 0x1b
	bell   = 0x07
)

// dirty reports whether Clean would change the text.
func dirty(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, forbidden)
}

// forbidden reports whether a character must not reach a terminal.
func forbidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return true // explicit direction
	}
	return r == 0x2028 || r == 0x2029 || r == 0xfeff
}

// sequence returns the length of the rest of an escape sequence.
func sequence(rest string) int {
	if rest == "" {
		return 0
	}
	switch rest[0] {
	case '[':
		return 1 + parameters(rest[1:])
	case ']', 'P', 'X', '^', '_':
		return 1 + controlString(rest[1:])
	}
	for i := range len(rest) { // intermediate bytes, then a final one
		switch c := rest[i]; {
		case c >= 0x20 && c <= 0x2f:
		case c >= 0x30 && c <= 0x7e:
			return i + 1
		default:
			return i
		}
	}
	return len(rest)
}

// afterC1 returns the length of the rest of an eight-bit control sequence.
func afterC1(r rune, rest string) int {
	switch r {
	case 0x9b: // CSI
		return parameters(rest)
	case 0x9d, 0x90, 0x98, 0x9e, 0x9f: // OSC, DCS, SOS, PM, APC
		return controlString(rest)
	}
	return 0
}

// parameters returns the length of the parameters and the final byte of a CSI sequence.
func parameters(rest string) int {
	for i := range len(rest) {
		switch c := rest[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return i
		}
	}
	return len(rest)
}

// controlString returns the length of a control string with its end: BEL, ST, or the end of
// the line.
func controlString(rest string) int {
	for i := range len(rest) {
		switch {
		case rest[i] == '\n':
			return i
		case rest[i] == bell:
			return i + 1
		case rest[i] == escape && i+1 < len(rest) && rest[i+1] == '\\':
			return i + 2
		case rest[i] == 0xc2 && i+1 < len(rest) && rest[i+1] == 0x9c: // ST as one character
			return i + 2
		}
	}
	return len(rest)
}
