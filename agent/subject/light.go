package subject

import (
	"slices"

	"molar/internal/text"
)

// maxKnown bounds how much of an exchange is read for its words, in bytes.
const maxKnown = 8000

// isLight reports whether a message adds no subject to an exchange: each of its words is
// grammatical or can be asked of anything, names the topic, or occurs in the exchange.
func (r reading) isLight(last *Exchange) bool {
	known := make(vocabulary)
	for _, part := range []string{last.Question, last.Answer} {
		clean, _, _ := normalise(text.Clip(part, maxKnown, ""))
		known.add(wordsOf(clean))
	}
	words, heavy := r.heavy()
	return !slices.ContainsFunc(heavy, func(i int) bool { return !r.names[i] && !known.has(words[i]) })
}

// heavy returns the words of a message, and the indexes of those that carry a subject.
func (r reading) heavy() (words []text.Word, at []int) {
	s, words := readSigns().of(r.text, r.words)
	for i := 0; i < len(words); {
		n := s.light.At(words, i)
		if n == 0 {
			at = append(at, i)
		}
		i += max(n, 1)
	}
	return words, at
}

// A vocabulary holds words as written, and their stems.
type vocabulary map[string]bool

func (v vocabulary) add(words []text.Word) {
	for _, w := range words {
		v[w.Raw], v[stemOf(w)] = true, true
	}
}

// has reports whether a word is there as written. A word without marks also matches by its stem; in
// a Vietnamese sentence with marks that would be another word.
func (v vocabulary) has(w text.Word) bool { return v[w.Raw] || w.Bare && v[stemOf(w)] }

// stemOf returns a word's stem in a form that no written word has.
func stemOf(w text.Word) string { return "~" + text.Stem(w.Folded) }
