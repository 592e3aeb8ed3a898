package knowledge

import (
	"slices"

	"molar/internal/text"
)

// ContentWords returns the words of a question that have a meaning of their own, each once and in
// order of the alphabet: those by which a folder of both languages is searched.
func ContentWords(question string) []string {
	v := newVocabulary(nil, nil)
	var words []string
	for raw := range split(question) {
		if w := v.read(raw); w.idle {
			continue
		}
		word := raw
		if text.NewWord(raw).Bare {
			word = v.fold(raw)
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return slices.Compact(words)
}
