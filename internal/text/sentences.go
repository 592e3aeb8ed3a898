package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences splits a text into its sentences, each with the space behind it.
func Sentences(s string) []string {
	var all []string
	for s != "" {
		n := SentenceEnd(s)
		if n == 0 {
			n = len(s)
		}
		if strings.TrimSpace(s[:n]) != "" {
			all = append(all, s[:n])
		}
		s = s[n:]
	}
	return all
}

// SentenceEnd returns the length of the first sentence of a text with the space behind it, zero if the
// sentence has not ended: a full stop without a space may be part of a number or an address. The number of a
// list entry is no sentence.
func SentenceEnd(s string) int {
	ended, letters, last := false, false, ' '
	for i, r := range s {
		switch {
		case r == '\n', r == '。', r == '！', r == '？', ended && unicode.IsSpace(r):
			return i + utf8.RuneLen(r)
		case r == '.' && unicode.IsDigit(last):
			ended = letters
		case strings.ContainsRune(".!?…", r):
			ended = true
		default:
			ended = ended && strings.ContainsRune("\"')*_”’", r)
			letters = letters || unicode.IsLetter(r)
		}
		last = r
	}
	return 0
}
