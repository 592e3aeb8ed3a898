package subject

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"molar/internal/text"
)

// maxRunes is how much of a message is read: more than anyone types, and short enough to judge in
// one small model call.
const maxRunes = 4000

// normalise prepares a message for matching and judging: it replaces compatibility forms, drops
// invisible characters, reads look-alike letters inside Latin words as Latin, and cuts a very long
// text to its beginning and end. hidden reports that invisible or look-alike characters were found.
func normalise(text string) (clean string, hidden, cut bool) {
	text, cut = shorten(strings.ToValidUTF8(text, " "))
	text = norm.NFKC.String(text)
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		switch {
		case isTag(r):
			hidden = true
		case isInvisible(r):
		default:
			b.WriteRune(r)
		}
	}
	plain, mixed := unmask(b.String())
	return strings.TrimSpace(plain), hidden || mixed, cut
}

// shorten keeps the first two thirds and the last third of a text that is too long: a hidden order
// tends to be at the end.
func shorten(text string) (string, bool) {
	if len(text) <= maxRunes {
		return text, false
	}
	runes := []rune(text)
	if len(runes) <= maxRunes {
		return text, false
	}
	first := maxRunes * 2 / 3
	return string(runes[:first]) + " … " + string(runes[len(runes)-(maxRunes-first):]), true
}

// isTag reports whether r is a tag character; these can spell invisible sentences.
func isTag(r rune) bool { return r >= 0xE0000 && r <= 0xE007F }

// isInvisible reports whether r is not displayed: zero-width, direction and other format
// characters, and controls except white space.
func isInvisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || r == 0x034F || r == 0x3164 ||
		(unicode.IsControl(r) && !unicode.IsSpace(r))
}

// unmask replaces look-alike letters in words that also hold Latin ones.
func unmask(message string) (string, bool) {
	mixed := false
	words := strings.Split(message, " ")
	for i, w := range words {
		latin, alike := false, false
		for _, r := range w {
			latin = latin || unicode.Is(unicode.Latin, r)
			alike = alike || text.LookAlike(r) != r
		}
		if latin && alike {
			words[i] = strings.Map(text.LookAlike, w)
			mixed = true
		}
	}
	if !mixed {
		return message, false
	}
	return strings.Join(words, " "), true
}
