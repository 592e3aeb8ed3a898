package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark ends a text that was cut.
const Mark = " […]"

// Text shortens s to at most limit bytes, at the border of a rune and with a [Mark].
func Text(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:Border(s, max(0, limit-len(Mark)))] + Mark
}

// Border returns the largest border of a rune in s that is at most n.
func Border(s string, n int) int {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// Visible drops characters that a terminal or a reader would not show: controls but tab
// and line end, format characters, and the supplementary variation selectors, all of
// which can hide text from a person.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf), r >= 0xE0100 && r <= 0xE01EF:
			return -1
		}
		return r
	}, s)
}

// Line is what is shown of a text that may be anything: valid, visible and bounded.
func Line(b []byte, limit int) string {
	b = b[:min(len(b), 4*limit)]
	return Text(strings.TrimSpace(Visible(strings.ToValidUTF8(string(b), "?"))), limit)
}
