package knowledge

import (
	_ "embed"
	"slices"
	"strings"
)

// everyday holds for everyday English words others that documents use in their place, one word with its
// others a line.
//
//go:embed same.txt
var everyday string

// A thesaurus has for the term of a word the terms of others with nearly the same sense.
type thesaurus map[string][]string

// newThesaurus returns the thesaurus of a vocabulary, which is empty without English.
func newThesaurus(v *vocabulary) thesaurus {
	t := make(thesaurus)
	if !v.english {
		return t
	}
	for line := range strings.Lines(everyday) {
		word, others, _ := strings.Cut(strings.TrimSpace(line), ": ")
		word = v.fold(word)
		for other := range strings.FieldsSeq(others) {
			other = v.fold(other)
			t.add(word, other)
			t.add(other, word)
		}
	}
	return t
}

func (t thesaurus) add(word, other string) {
	if word != other && !slices.Contains(t[word], other) {
		t[word] = append(t[word], other)
	}
}
