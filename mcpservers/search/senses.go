package search

import (
	"slices"
	"strconv"
	"strings"
)

// sensesOf gives every word and pair of the lists the name of its list. A phrase
// counts by its last pair, without marks; a single word as it is written, since
// without its marks it is often another.
func (ix *index) sensesOf(synonyms [][]string) map[string]string {
	senses := make(map[string]string)
	for i, list := range synonyms {
		for _, phrase := range list {
			terms := ix.terms(phrase)
			if strings.ContainsAny(phrase, " ") {
				terms = slices.DeleteFunc(terms, func(t term) bool { return !t.pair || t.marked })
			}
			if n := len(terms); n > 0 {
				senses[terms[n-1].text] = "_" + strconv.Itoa(i)
			}
		}
	}
	return senses
}

// expand adds the senses of the terms, so that what is asked in one word meets what
// is told in another.
func (ix *index) expand(terms []term) []term {
	for _, t := range terms {
		if sense, ok := ix.senses[t.text]; ok {
			terms = append(terms, term{text: sense})
		}
	}
	return terms
}
