package offline

import (
	"slices"
	"strings"
)

// A term is a word or a phrase that may carry the subject of a text.
type term struct {
	keys     []string // concepts, or the stemmed word itself
	from, to int      // tokens
	known    bool     // it is in the lexicon
	plural   bool
	own      string // the noun concept that is named after it
}

// has reports whether the term may mean key.
func (t term) has(key string) bool { return slices.Contains(t.keys, key) }

// verbs returns the keys that are verbs.
func (t term) verbs() []string {
	var out []string
	for _, k := range t.keys {
		if k[0] == '!' {
			out = append(out, k)
		}
	}
	return out
}

// A phraseBook says how to read tokens: as Vietnamese or not, with marks or not.
type phraseBook struct {
	*lexicon
	vietnamese bool
	hasMarks   bool
}

func newPhraseBook(vietnamese bool, tokens []token) phraseBook {
	marked := slices.ContainsFunc(tokens, func(t token) bool { return t.marked != t.bare })
	return phraseBook{lexicon: words(), vietnamese: vietnamese, hasMarks: marked}
}

// longest is how many words a phrase of the lexicon has at most.
const longest = 4

// read splits tokens into terms; skipped tokens and stop words give none.
func (p phraseBook) read(tokens []token, skip func(i int) bool) []term {
	var terms []term
	for i := 0; i < len(tokens); {
		if skip != nil && skip(i) {
			i++
			continue
		}
		n, found, stop := p.match(tokens[i:], func(k int) bool { return skip != nil && skip(i+k) })
		switch {
		case len(found) > 0:
			t := term{from: i, to: i + n, known: true, plural: isPlural(tokens[i+n-1].bare)}
			for _, c := range found {
				t.keys = append(t.keys, c.key)
			}
			terms = append(terms, t)
		case !stop:
			w := tokens[i]
			terms = append(terms, term{keys: []string{w.stem}, from: i, to: i + 1, plural: isPlural(w.bare)})
		}
		i += n
	}
	return terms
}

func isPlural(w string) bool {
	return len(w) > 3 && w[len(w)-1] == 's' && w[len(w)-2] != 's' && w[len(w)-2] != 'u'
}

// match finds the longest phrase that tokens start with.
func (p phraseBook) match(tokens []token, skip func(i int) bool) (n int, found []concept, stop bool) {
	for n = min(longest, len(tokens)); n >= 1; n-- {
		if n > 1 && anyBreak(tokens[1:n]) {
			continue
		}
		if anySkipped(n, skip) {
			continue
		}
		stems, marked, bare := joined(tokens[:n])
		found = p.lookUp(stems, marked, bare)
		stop = p.stops(marked, bare)
		if stop && n == 1 && p.vietnamese && !p.hasMarks {
			found = nil // without marks a syllable is too many words at once
		}
		if len(found) > 0 || stop {
			return n, found, stop
		}
	}
	return 1, nil, false
}

func (p phraseBook) lookUp(stems, marked, bare string) []concept {
	var found []concept
	if p.vietnamese {
		if p.hasMarks {
			found = p.marked[marked]
		} else {
			found = p.bare[bare]
		}
	}
	if len(found) == 0 {
		found = p.english[bare]
	}
	if len(found) == 0 {
		found = p.english[strings.TrimSuffix(bare, "s")]
	}
	if len(found) == 0 {
		found = p.stems[stems]
	}
	return found
}

func (p phraseBook) stops(marked, bare string) bool {
	if !p.vietnamese {
		return p.stopEnglish[bare]
	}
	if p.hasMarks {
		return p.stopMarked[marked]
	}
	return p.stopBare[bare]
}

func anyBreak(tokens []token) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return t.breaks })
}

func anySkipped(n int, skip func(i int) bool) bool {
	for i := range n {
		if skip(i) {
			return true
		}
	}
	return false
}

func joined(tokens []token) (stems, marked, bare string) {
	for i, t := range tokens {
		if i > 0 {
			stems, marked, bare = stems+" ", marked+" ", bare+" "
		}
		stems, marked, bare = stems+t.stem, marked+t.marked, bare+t.bare
	}
	return stems, marked, bare
}
