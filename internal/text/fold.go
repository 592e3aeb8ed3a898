package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns s in the form that is used for matching: compatibility characters replaced, lower
// case, diacritics removed, đ replaced by d, white space collapsed to single spaces and trimmed.
// Punctuation stays; invalid UTF-8 becomes U+FFFD. Folding is idempotent.
func Fold(s string) string {
	if isFolded(s) {
		return s
	}
	if !isPlain(s) {
		s = norm.NFKD.String(strings.ToValidUTF8(s, "\uFFFD"))
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case r >= utf8.RuneSelf && unicode.Is(unicode.Mn, r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(foldRune(r))
	}
	return b.String()
}

// foldRune returns r in lower case, and d for đ, which has no decomposition.
func foldRune(r rune) rune {
	switch r {
	case 'đ', 'Đ':
		return 'd'
	}
	return unicode.ToLower(r)
}

// isFolded reports whether folding would not change the text. Most words of a list are folded
// already and need no copy.
func isFolded(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf, c >= 'A' && c <= 'Z', c < ' ':
			return false
		case c == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' '):
			return false
		}
	}
	return true
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
