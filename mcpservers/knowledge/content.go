package knowledge

import (
	"maps"
	"slices"

	"molar/internal/text"
)

// ContentWords returns the words of a question that have a meaning of their own, each once and in
// order of the alphabet: those by which a folder of both languages is searched.
func ContentWords(question string) []string {
	return slices.Sorted(maps.Keys(WrittenWords(question)))
}

// WrittenWords returns how a question writes each of its [ContentWords].
func WrittenWords(question string) map[string]string {
	v := newVocabulary(nil, nil)
	words := map[string]string{}
	for raw := range split(question) {
		if w := v.read(raw); w.idle {
			continue
		}
		word := raw
		if text.NewWord(raw).Bare {
			word = v.fold(raw)
		}
		words[word] = raw
	}
	return words
}
