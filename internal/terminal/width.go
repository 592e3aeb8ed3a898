package terminal

import (
	"unicode"

	"golang.org/x/text/width"
)

// Width returns how many columns a text takes: two for East Asian wide characters and emoji,
// none for combining marks, joiners and what is joined, a tab as one.
func Width(text string) int {
	n, before := 0, rune(0)
	for _, r := range text {
		n += stepWidth(before, r)
		before = r
	}
	return n
}

// stepWidth returns how many columns a character adds after another one.
func stepWidth(before, r rune) int {
	if joins(before, r) {
		return 0
	}
	return runeWidth(r)
}

// joins reports whether a character belongs to the one before it.
func joins(before, r rune) bool {
	return r > 0x300 && runeWidth(r) == 0 || before == 0x200d || r >= 0x1f3fb && r <= 0x1f3ff // a mark, after a joiner, a tone of skin
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r == 0x200b, r == 0x200d, r >= 0xfe00 && r <= 0xfe0f, unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Truncate cuts a text to a number of columns, the last of which marks the cut.
func Truncate(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	if columns < 1 {
		return ""
	}
	used, before := 1, rune(0) // the ellipsis
	for i, r := range text {
		if used += stepWidth(before, r); used > columns {
			return text[:i] + "…"
		}
		before = r
	}
	return text
}
