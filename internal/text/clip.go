package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark ends a clipped text.
const Mark = " […]"

// Clip returns s, or its first most bytes and the mark if it is longer. It cuts no character in
// two.
func Clip(s string, most int, mark string) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + mark
}

// Shorten is [Clip] to at most limit bytes with the [Mark].
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return Clip(s, max(0, limit-len(Mark)), Mark)
}

// Truncate returns s, or its first limit-1 characters and an ellipsis if it is longer than limit
// characters.
func Truncate(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// Border returns the largest rune boundary in s that is at most n.
func Border(s string, n int) int {
	n = min(n, len(s))
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// Visible drops characters that a terminal or a reader would not show: control characters except
// tab and line end, format characters, and the supplementary variation selectors, all of which
// can hide text from a person.
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

// Line returns bytes as one line for display: valid, visible and at most limit bytes.
func Line(b []byte, limit int) string {
	b = b[:min(len(b), 4*limit)]
	return Shorten(strings.TrimSpace(Visible(strings.ToValidUTF8(string(b), "?"))), limit)
}
