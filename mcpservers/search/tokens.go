package search

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"molar/internal/text"
)

// A token is a word as written, in lower case, and without its marks.
type token struct {
	raw, folded string
}

// bare says that the word was written without marks.
func (t token) bare() bool { return t.raw == t.folded }

// tokenize cuts text into words. Guide and queries go through the same function, so
// that they always meet.
func tokenize(s string) []token {
	var tokens []token
	for _, w := range text.Words(strings.ReplaceAll(strings.ToLower(norm.NFKC.String(s)), "a&e", "ae")) {
		raw := strings.ReplaceAll(strings.TrimSuffix(w.Raw, "'s"), "'", "")
		if raw != "" {
			tokens = append(tokens, token{raw: raw, folded: text.Fold(raw)})
		}
	}
	return tokens
}
