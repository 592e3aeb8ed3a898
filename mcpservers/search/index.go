package search

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/internal/store/fulltext"
)

// fields are the parts of an entry, with what a word in each counts for.
func fields() []fulltext.Field {
	return []fulltext.Field{{Name: "title", Weight: 6}, {Name: "keys", Weight: 6}, {Name: "asked", Weight: 3}, {Name: "body", Weight: 0.6}}
}

const (
	// One of the first entries must hold this share of what the query asks for, more
	// when no word of the query is of the subject. A question of the subject is rather
	// answered with the nearest entry than left to the web.
	threshold        = 0.28
	thresholdOutside = 0.5
	judged           = 3
	// An entry that fits the query less than this share of the best is left out.
	shareOfBest = 0.3
	// A word that no entry has says less against one than another entry's word, if
	// the question is of the subject: people tell stories.
	strange = 0.5
	// A pair that the entry does not have says less against it than a word does: its
	// words were counted already.
	missedPair = 0.5
	// maxTerms bounds the terms of one query; the rarest are taken.
	maxTerms = 28
)

// A hit is an entry with its score, between 0 and 1.
type hit struct {
	entry int
	score float64
}

// index is the full-text index of one language's entries.
type index struct {
	*vocabulary
	fts     *fulltext.Index
	entries []entry
	holders map[string]entrySet // which entries hold a term
	words   map[byte][]string   // the words among the terms that may be meant by a slip, by first letter
	// subject and elsewhere hold the terms of those words of the guide.
	subject, elsewhere map[string]bool
	// senses names the sense of a term that has others of the same.
	senses map[string]string
}

// maxEntries is the size of an entrySet.
const maxEntries = 128

// An entrySet is a set of entries, a bit each.
type entrySet [maxEntries / 64]uint64

func (s entrySet) with(entry int) entrySet {
	s[entry/64] |= 1 << (entry % 64)
	return s
}

func (s entrySet) has(entry int) bool { return s[entry/64]&(1<<(entry%64)) != 0 }

func (s entrySet) size() int { return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) }

func newIndex(ctx context.Context, lang string, t topics) (*index, error) {
	if len(t.entries) > maxEntries {
		return nil, fmt.Errorf("index the dental guide: %d entries, at most %d are held", len(t.entries), maxEntries)
	}
	ix := &index{vocabulary: newVocabulary(lang, t), entries: t.entries, holders: make(map[string]entrySet)}
	ix.subject, ix.elsewhere = ix.signs(t.subject), ix.signs(t.elsewhere)
	ix.senses = ix.sensesOf(t.synonyms)
	docs := make([][][]string, len(t.entries))
	for i, e := range t.entries {
		docs[i] = ix.document(e)
		for _, terms := range docs[i] {
			for _, text := range terms {
				ix.holders[text] = ix.holders[text].with(i)
			}
		}
	}
	ix.words = make(map[byte][]string)
	for _, text := range slices.Sorted(maps.Keys(ix.holders)) { // the same answer every time
		if len(text) >= mendable-1 && !strings.Contains(text, "_") && text[0] < utf8.RuneSelf {
			ix.words[text[0]] = append(ix.words[text[0]], text)
		}
	}
	var err error
	ix.fts, err = fulltext.New(ctx, fields(), docs)
	return ix, err
}

// signs returns the term of each word or phrase that says most: as written, and of a
// phrase its last pair, which must hold a word that is not idle.
func (ix *index) signs(phrases []string) map[string]bool {
	set := make(map[string]bool)
	for _, p := range phrases {
		terms := ix.terms(p)
		if i := len(terms) - 1; i >= 0 && (terms[i].pair || !strings.Contains(p, " ")) {
			set[terms[i].text] = true
		}
	}
	return set
}

// document returns the terms of an entry, a list for each of the fields.
func (ix *index) document(e entry) [][]string {
	body := slices.DeleteFunc(ix.terms(e.text), func(t term) bool { return t.pair }) // chance, most of them
	return [][]string{texts(ix.expand(ix.terms(e.title))), ix.phrases(e.keys), ix.phrases(e.asked), texts(body)}
}

// phrases returns the terms of each phrase, without pairs across two of them.
func (ix *index) phrases(list []string) (all []string) {
	for _, p := range list {
		all = append(all, texts(ix.expand(ix.terms(p)))...)
	}
	return all
}

// find returns the best entries for a query, best first.
func (ix *index) find(ctx context.Context, query string, limit int) ([]hit, error) {
	terms := ix.terms(query)
	if slices.ContainsFunc(terms, func(t term) bool { return ix.elsewhere[t.text] }) {
		return nil, nil
	}
	ix.mend(terms)
	needed, inside := thresholdOutside, false
	if slices.ContainsFunc(terms, func(t term) bool { return ix.subject[t.text] }) {
		needed, inside = threshold, true
	}
	terms, known := ix.wanted(ix.expand(terms))
	found, err := ix.fts.Find(ctx, known, limit)
	if err != nil {
		return nil, err
	}
	covered := 0.0
	for _, f := range found[:min(len(found), judged)] {
		covered = max(covered, ix.covers(f.Doc, terms, inside))
	}
	if covered < needed {
		return nil, nil
	}
	var hits []hit
	for _, f := range found {
		if share := f.Score / found[0].Score; share >= shareOfBest {
			hits = append(hits, hit{entry: f.Doc, score: covered * share})
		}
	}
	return hits, nil
}

// wanted returns those terms of a query that count, rarest first, and which of them
// to look up.
func (ix *index) wanted(terms []term) (counting []term, known []string) {
	slices.SortStableFunc(terms, func(a, b term) int { return cmp.Compare(ix.holders[a.text].size(), ix.holders[b.text].size()) })
	seen := make(map[string]bool)
	counting = slices.DeleteFunc(terms, func(t term) bool {
		twice, held := seen[t.text], ix.holders[t.text].size() > 0
		seen[t.text] = true
		if held && !twice && len(known) < maxTerms && (len(known) == 0 || ix.tells(t.text)) {
			known = append(known, t.text)
		}
		// Most pairs of a question are chance.
		return twice || (t.pair && !held)
	})
	return counting, known
}

// tells says whether a term sets some entries apart: "tooth" is in nearly all.
func (ix *index) tells(text string) bool {
	return ix.holders[text].size()*2 < len(ix.entries)
}

// covers is how much of what a query asks for an entry holds, each term as much as
// it is rare. Outside the subject a word with marks must agree in them: "bão" (storm)
// is not "báo".
func (ix *index) covers(entry int, terms []term, inside bool) float64 {
	held, all := 0.0, 0.0
	for _, t := range terms {
		if t.marked || (unicode.IsDigit(rune(t.text[0])) && ix.holders[t.text].size() == 0) {
			continue // an age or an hour
		}
		weight := ix.idf(t.text)
		if inside && ix.holders[t.text].size() == 0 {
			weight *= strange
		}
		if ix.holders[t.text].has(entry) && (inside || t.written == "" || ix.holders[t.written].has(entry)) {
			held += weight
		} else if t.pair {
			weight *= missedPair
		}
		all += weight
	}
	return held / max(all, 0.5)
}

// idf is how rare a term is among the entries, as FTS5 reckons it; one that none has
// counts as the rarest.
func (ix *index) idf(text string) float64 {
	n, df := float64(len(ix.entries)), float64(ix.holders[text].size())
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}
