package search

import "strings"

// mendable is the length, in bytes, from which a word that no entry has is taken for
// a known one written with a slip.
const mendable = 5

// mend replaces terms that no entry has: a word by its sense, two words by the one
// that they spell ("tooth ache"), a word by the nearest known one.
func (ix *index) mend(terms []term) {
	for i, t := range terms {
		switch {
		case t.marked || ix.holders[t.text].size() > 0:
		case ix.senses[t.text] != "":
			terms[i] = term{text: ix.senses[t.text]}
		case t.pair:
			if joined := strings.ReplaceAll(t.text, "_", ""); ix.holders[joined].size() > 0 {
				terms[i] = term{text: joined}
			}
		case len(t.text) >= mendable:
			if near := ix.nearest(t.text); near != "" {
				terms[i].text = near
			}
		}
	}
}

// nearest returns the word of the index that is one slip away, of several the one
// that most entries have; "" when there is none. People get the first letter right.
func (ix *index) nearest(word string) (best string) {
	for _, known := range ix.words[word[0]] {
		if n := ix.holders[known].size(); n > ix.holders[best].size() && oneSlip(word, known) {
			best = known
		}
	}
	return best
}

// oneSlip says whether two words differ by one letter too many, too few, other or
// swapped with its neighbour.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) || a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
