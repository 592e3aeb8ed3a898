package subject

import "molar/internal/text"

// maxKnown bounds how much of an exchange is read for its words, in bytes.
const maxKnown = 8000

// A burden counts the words of a message that carry a subject: those that are fresh, that occur in the
// exchange before it, and that name the topic.
type burden struct{ fresh, known, names int }

// burden weighs a message against the exchange before it; nil means that there is none.
func (r reading) burden(last *Exchange) (b burden) {
	known := make(vocabulary)
	if last != nil {
		for _, part := range []string{last.Question, last.Answer} {
			clean, _, _ := normalise(text.Clip(part, maxKnown, ""))
			known.add(wordsOf(clean))
		}
	}
	words, heavy := r.heavy()
	for _, i := range heavy {
		switch {
		case r.names[i]:
			b.names++
		case known.has(words[i]):
			b.known++
		default:
			b.fresh++
		}
	}
	return b
}

// isLight reports whether a message adds no subject to an exchange: each of its words is
// grammatical or can be asked of anything, names the topic, or occurs in the exchange.
func (b burden) isLight() bool { return b.fresh == 0 }

// NamesSomething reports whether a message has a word that carries a subject: one that is not
// grammatical, and that cannot be asked of anything.
func NamesSomething(message string) bool {
	clean, _, _ := normalise(message)
	_, at := reading{text: clean, words: wordsOf(clean)}.heavy()
	return len(at) > 0
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
