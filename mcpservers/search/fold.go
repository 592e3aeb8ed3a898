package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A token is a word as written and without its marks; bare says that it was written
// without any.
type token struct {
	raw, folded string
	bare        bool
}

// tokenize cuts text into lower-case words. Guide and queries go through the same
// function, so that they always meet.
func tokenize(text string) []token {
	var tokens []token
	for raw := range strings.FieldsFuncSeq(strings.ToLower(norm.NFKC.String(text)), notWord) {
		raw = strings.TrimSuffix(strings.TrimSuffix(raw, "'s"), "’s")
		if raw = strings.Trim(raw, "'’"); raw != "" {
			folded := fold(raw)
			tokens = append(tokens, token{raw: raw, folded: stem(folded), bare: folded == raw})
		}
	}
	return tokens
}

func notWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && r != '\'' && r != '’'
}

// fold removes the marks of a lower-case word and writes đ as d.
func fold(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return word
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(word) {
		switch {
		case r == 'đ':
			b.WriteByte('d')
		case !unicode.Is(unicode.Mn, r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// stem cuts the commonest English endings and brings irregular plurals of the trade
// together. Vietnamese syllables are too short to be touched.
func stem(w string) string {
	switch w {
	case "teeth":
		return "tooth"
	case "kids", "kid", "children", "childs", "baby", "babies", "toddler", "toddlers":
		return "child"
	case "bled", "bleeds", "bleeding":
		return "bleed"
	}
	for _, ending := range []string{"ies", "ing", "ed", "es", "s"} {
		base, ok := strings.CutSuffix(w, ending)
		if !ok || len(base) < 4 || strings.HasSuffix(w, "ss") {
			continue
		}
		if ending == "ies" {
			return base + "y"
		}
		return strings.TrimSuffix(base, "e")
	}
	if len(w) > 4 {
		return strings.TrimSuffix(w, "e")
	}
	return w
}
