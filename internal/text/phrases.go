package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Phrases finds phrases in words. In the source of a phrase, "a|b" matches either word, "=a"
// matches the word only with its diacritics, "a*" matches any word that begins with a, and a single
// "*" matches up to four words of the same clause. A word with diacritics also matches the word
// without them, and an English noun its plural.
type Phrases struct {
	// strict means that phrases of one word match only with their diacritics: without them, a
	// Vietnamese syllable often has another meaning.
	strict  bool
	byFirst map[string][]phrase // by the folded first word
	open    map[byte][]phrase   // those whose first word ends in "*", by its first byte
}

// NewPhrases parses phrases.
func NewPhrases(sources []string) *Phrases { return newPhrases(sources, false) }

// NewStrictPhrases parses phrases of which those of one word match only with their diacritics.
func NewStrictPhrases(sources []string) *Phrases { return newPhrases(sources, true) }

func newPhrases(sources []string, strict bool) *Phrases {
	p := &Phrases{strict: strict, byFirst: make(map[string][]phrase), open: make(map[byte][]phrase)}
	for _, s := range sources {
		p.add(readPhrase(s))
	}
	return p
}

func (p *Phrases) add(ph phrase) {
	if len(ph) == 0 || ph[0].gap {
		return
	}
	seen := make(map[string]bool)
	for _, first := range ph[0].words {
		switch {
		case first.open:
			p.open[first.Folded[0]] = append(p.open[first.Folded[0]], ph)
		case !seen[first.Folded]:
			p.byFirst[first.Folded] = append(p.byFirst[first.Folded], ph)
			seen[first.Folded] = true
		}
	}
}

// At returns the number of words of the longest phrase that begins at words[i]; zero if none does.
func (p *Phrases) At(words []Word, i int) int {
	end := i
	for _, ph := range p.byFirst[words[i].Folded] {
		end = max(end, ph.match(words, i, !p.strict || len(ph) > 1))
	}
	if end == i && len(p.open) > 0 && words[i].Folded != "" {
		for _, ph := range p.open[words[i].Folded[0]] {
			end = max(end, ph.match(words, i, true))
		}
	}
	return end - i
}

// In reports whether words contain a phrase.
func (p *Phrases) In(words []Word) bool {
	for i := range words {
		if p.At(words, i) > 0 {
			return true
		}
	}
	return false
}

// Cover reports whether words consist only of phrases of the sets, with at least one of the first
// set.
func Cover(words []Word, first *Phrases, others ...*Phrases) bool {
	found := false
	for i := 0; i < len(words); {
		n := first.At(words, i)
		found = found || n > 0
		for _, p := range others {
			if n == 0 {
				n = p.At(words, i)
			}
		}
		if n == 0 {
			return false
		}
		i += n
	}
	return found
}

// gapWords is the largest number of words that a "*" matches.
const gapWords = 4

// A phrase is a sequence of words to find.
type phrase []alternatives

type alternatives struct {
	gap   bool
	words []phraseWord
}

type phraseWord struct {
	Word
	exact, open bool
}

func readPhrase(source string) phrase {
	var p phrase
	for field := range strings.FieldsSeq(strings.ToLower(source)) {
		a := alternatives{gap: field == "*"}
		for word := range strings.SplitSeq(field, "|") {
			word, exact := strings.CutPrefix(word, "=")
			word, open := strings.CutSuffix(word, "*")
			if first := firstWord(word); first.Folded != "" {
				a.words = append(a.words, phraseWord{first, exact, open})
			}
		}
		if a.gap || len(a.words) > 0 {
			p = append(p, a)
		}
	}
	return p
}

// firstWord returns the first word of a lower-case text. Most of the texts are a single word, which
// need not be split.
func firstWord(s string) Word {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) || !norm.NFC.IsNormalString(s) {
		if words := Words(s); len(words) > 0 {
			return words[0]
		}
		return Word{}
	}
	w := NewWord(s)
	w.Pause = SentencePause
	return w
}

// match returns the end of the phrase if it begins at words[i], else -1. A phrase does not extend
// over a pause.
func (p phrase) match(words []Word, i int, forgiving bool) int {
	if i >= len(words) || !p[0].has(words[i], forgiving) {
		return -1
	}
	return p[1:].rest(words, i+1, forgiving)
}

func (p phrase) rest(words []Word, i int, forgiving bool) int {
	switch {
	case len(p) == 0:
		return i
	case i >= len(words) || words[i].Pause != NoPause:
		return -1
	case !p[0].gap:
		return p.match(words, i, forgiving)
	}
	for skip := 0; skip <= gapWords; skip++ {
		if end := p[1:].rest(words, i+skip, forgiving); end >= 0 {
			return end
		}
		if next := i + skip; next >= len(words) || words[next].Pause != NoPause || denies(words[next]) {
			break
		}
	}
	return -1
}

func (a alternatives) has(w Word, forgiving bool) bool {
	for _, want := range a.words {
		if want.is(w, forgiving) {
			return true
		}
	}
	return false
}

// is reports whether a word of a phrase matches a word of a text. Diacritics in the text must be
// the same; missing ones are accepted if forgiving is set.
func (want phraseWord) is(got Word, forgiving bool) bool {
	switch {
	case want.open:
		return strings.HasPrefix(got.Folded, want.Folded)
	case got.Raw == want.Raw:
		return true
	case want.exact, got.Folded != want.Folded:
		return false
	}
	return got.Bare && (forgiving || want.Bare)
}

// denies reports whether a word negates the phrase around it: "it is not broken".
func denies(w Word) bool {
	switch w.Raw {
	case "not", "no", "never", "isn't", "không", "chưa":
		return true
	}
	return false
}
