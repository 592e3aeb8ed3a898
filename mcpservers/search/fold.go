package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A token is a word as written, in lower case, and without its marks.
type token struct {
	raw, folded string
}

// bare says that the word was written without marks.
func (t token) bare() bool { return t.raw == t.folded }

// tokenize cuts text into words. Guide and queries go through the same function, so
// that they always meet.
func tokenize(text string) []token {
	var tokens []token
	for raw := range strings.FieldsFuncSeq(strings.ReplaceAll(strings.ToLower(norm.NFKC.String(text)), "a&e", "ae"), notWord) {
		raw = strings.TrimSuffix(strings.TrimSuffix(raw, "'s"), "’s")
		if raw = strings.ReplaceAll(strings.ReplaceAll(raw, "'", ""), "’", ""); raw != "" {
			tokens = append(tokens, token{raw: raw, folded: fold(raw)})
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
	for i, r := range word {
		parts := string(norm.NFD.PropertiesString(word[i:]).Decomposition())
		if parts == "" {
			parts = string(r)
		}
		for _, part := range parts {
			switch {
			case part == 'đ':
				b.WriteByte('d')
			case !unicode.Is(unicode.Mn, part):
				b.WriteRune(part)
			}
		}
	}
	return b.String()
}

// stem cuts the commonest English endings and brings irregular forms of the trade
// together. It is for English alone: a Vietnamese syllable would lose its sense.
func stem(w string) string {
	switch w {
	case "teeth":
		return "tooth"
	case "kids", "kid", "children", "childs", "toddler", "toddlers", "son", "daughter":
		return "child"
	case "gran", "granny", "grandma", "grandmother", "nan", "nana", "grandpa", "grandad", "granddad", "grandfather", "elderly":
		return "grandparent"
	case "babies", "infant", "infants", "newborn":
		return "baby"
	case "bled", "blood", "bloody":
		return "bleed"
	case "broke", "broken":
		return "break"
	case "fell", "fallen":
		return "fall"
	case "worn", "wore":
		return "wear"
	case "ate", "eaten":
		return "eat"
	case "bitten":
		return "bit"
	}
	for _, ending := range []string{"ies", "ing", "ed", "es", "s", "e", "y"} {
		base, ok := strings.CutSuffix(w, ending)
		if !ok || len(base) < 3 || strings.HasSuffix(w, "eed") || strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") {
			continue
		}
		if n := len(base); (ending == "ing" || ending == "ed") && base[n-1] == base[n-2] && !strings.ContainsRune("lsz", rune(base[n-1])) {
			base = base[:n-1] // slipping, chipped
		}
		return strings.TrimSuffix(base, "e")
	}
	return w
}
