package subject

import (
	_ "embed"
	"math/bits"
	"strings"
	"sync"

	"molar/internal/text"
)

// frequent holds the most frequent words of many languages.
//
//go:embed words.txt
var frequent string

// languages is a set of the paragraphs of that file, by index.
type languages uint64

// maxLanguages is the most paragraphs that fit the set.
const maxLanguages = 64

// The paragraphs of the file that are not another language.
const (
	vietnameseGrammar languages = 1 << iota
	vietnameseWord
	englishGrammar
	englishWord
	firstOther

	anyVietnamese = vietnameseGrammar | vietnameseWord
	anyEnglish    = englishGrammar | englishWord
	anyOther      = ^(firstOther - 1)
)

// lexicon maps a word, as in the file and without its marks, to the languages that use it. A word
// that several spell alike counts for all of them.
var lexicon = sync.OnceValue(func() map[string]languages {
	_, paragraphs, _ := strings.Cut(frequent, "\n\n")
	words := make(map[string]languages, len(frequent)/6)
	in := languages(1)
	for paragraph := range strings.SplitSeq(paragraphs, "\n\n") {
		_, list, _ := strings.Cut(paragraph, ":")
		for word := range strings.FieldsSeq(list) {
			words[word] |= in
			if folded := fold(word); folded != word {
				words[folded] |= in
			}
		}
		in <<= 1
	}
	return words
})

// lookUp returns the languages that use a folded word. The part before an apostrophe is a separate
// word in most, and part of a word in English.
func lookUp(folded string) languages {
	before, after, found := strings.Cut(folded, "'")
	if !found {
		return lexicon()[folded]
	}
	return lexicon()[before+after]&^anyOther | lexicon()[before+"'"] | lexicon()[after]&anyOther
}

// others calls f with the order of every other language of a set.
func (l languages) others(f func(i int)) {
	for rest := l & anyOther; rest != 0; rest &= rest - 1 {
		f(bits.TrailingZeros64(uint64(rest)))
	}
}

// fold removes the marks of a word, even those that are part of a letter.
func fold(word string) string {
	folded := text.Fold(word)
	if isPlain(folded) {
		return folded
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case 'ı':
			return 'i'
		case 'ł':
			return 'l'
		case 'ø':
			return 'o'
		case 'ß':
			return 's'
		case 'æ':
			return 'a'
		case 'œ':
			return 'o'
		case 'ð', 'þ':
			return 'd'
		}
		return r
	}, folded)
}

// isSyllable reports whether the folded word could be one Vietnamese syllable without
// its marks. Many short words of other languages could ("can", "la", "me"), so it is a
// hint, not a verdict.
func isSyllable(word string) bool {
	for n := min(3, len(word)-1); n >= 0; n-- {
		if fits, isOnset := onset(word[:n]); isOnset && isRime(word[n:]) {
			return fits == "" || strings.IndexByte(fits, word[n]) >= 0
		}
	}
	return false
}

// onset reports whether s can begin a Vietnamese syllable, and returns the vowels that can follow,
// if not all can.
func onset(s string) (vowels string, ok bool) {
	switch s {
	case "", "b", "ch", "d", "h", "kh", "l", "m", "n", "nh", "ph", "r", "s", "t", "th", "tr", "v", "x", "gi":
		return "", true
	case "k", "gh", "ngh":
		return "eiy", true
	case "c", "ng":
		return "aou", true
	case "g":
		return "aiou", true
	case "qu":
		return "aeioy", true
	}
	return "", false
}

// isRime reports whether s can follow the first consonants of a Vietnamese syllable.
func isRime(s string) bool {
	switch s {
	case "a", "ac", "ach", "ai", "am", "an", "ang", "anh", "ao", "ap", "at", "au", "ay",
		"e", "ec", "ech", "em", "en", "eng", "enh", "eo", "ep", "et", "eu",
		"i", "ia", "ich", "iec", "iem", "ien", "ieng", "iep", "iet", "ieu", "im", "in", "inh", "ip", "it", "iu",
		"o", "oa", "oac", "oach", "oai", "oam", "oan", "oang", "oanh", "oao", "oat", "oay", "oc", "oe", "oen", "oeo",
		"oet", "oi", "om", "on", "ong", "ooc", "oong", "op", "ot",
		"u", "ua", "uan", "uang", "uat", "uay", "uc", "ue", "uech", "uenh", "ui", "um", "un", "ung", "uo", "uoc", "uoi",
		"uom", "uon", "uong", "uop", "uot", "uou", "up", "ut", "uu", "uy", "uya", "uych", "uyen", "uyet", "uynh", "uyt", "uyu",
		"y", "yem", "yen", "yet", "yeu":
		return true
	}
	return false
}
