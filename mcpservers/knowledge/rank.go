package knowledge

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	// ample is what one of the first passages (judged of them) must reach: the share of the
	// question that it contains, with each word weighted by rarity, plus amount times the
	// logarithm of its score in words that only one passage has. Below this threshold there is no
	// answer, unless the share alone suffices. Between spaces in Vietnamese is a syllable, which
	// many passages share, so the threshold is higher there, or the whole title must match.
	ample, ampleSyllables, amount = 1.09, 1.35, 0.4
	enough, judged                = 0.65, 3
	// common is the least weight of a word, relative to one that no passage has: a word in most
	// passages does not select one, but confirms the folder.
	common = 0.4
	// otherMarks is the weight of a word that a passage has with other marks: "bão" is a storm,
	// "báo" a newspaper; synonym, of a word with the same sense.
	otherMarks, synonym = 0.4, 0.8
	// paired is the weight of two neighbours that are neighbours in a passage too, relative to an
	// equally rare word; loose is the part of it in English if one of them alone means nothing
	// ("brush my").
	paired, loose = 0.5, 0.5
	// titleWeight is the weight of a word in a title or among the keywords.
	titleWeight = 5
	// named is the bonus of a passage whose whole title is in the question.
	named = 0.5
	// aside is the factor of a passage that does not mention the conversation's subject; astray,
	// if the question itself names a new subject ("and hotels?").
	aside, astray = 0.5, 0.2
	// shareOfBest is the share of the best score below which a passage is dropped.
	shareOfBest = 0.3
	// maxWords bounds the words of a question.
	maxWords = 64
)

// A hit is a passage with its score, between 0 and 1.
type hit struct {
	passage
	score float64
}

// A query is an indexed question.
type query struct {
	words  []askedWord
	weight []float64 // of each word; 0 if it is idle or a repetition
	// places are the positions of a term among the words, senses those of a sense.
	places, senses map[uint32][]int
	lists          [][]posting // of the terms and senses to look up
}

func (ix *index) ask(question string) query {
	words := ix.words.ask(question)
	q := query{words: words[:min(len(words), maxWords)], places: make(map[uint32][]int), senses: make(map[uint32][]int)}
	for i, w := range q.words {
		list := ix.holding(w.term)
		weight := ix.wordWeight(w, len(list))
		if w.term != none && len(q.places[w.term]) > 0 {
			weight = 0
		}
		if weight > 0 && len(list) > 0 {
			q.lists = append(q.lists, list)
		}
		if w.sense != none {
			if q.senses[w.sense] == nil && len(ix.senses[w.sense]) > 0 {
				q.lists = append(q.lists, ix.senses[w.sense])
			}
			q.senses[w.sense] = append(q.senses[w.sense], i)
			if weight > 0 && len(list) == 0 && len(ix.senses[w.sense]) > 0 {
				weight = max(ix.rare(len(ix.senses[w.sense])), common*ix.rare(1))
			}
		}
		if w.term != none {
			q.places[w.term] = append(q.places[w.term], i)
		}
		q.weight = append(q.weight, weight)
	}
	return q
}

// wordWeight returns the weight of a question's word whose term this many passages contain. For a word
// with diacritics it is the rarity of that spelling.
func (ix *index) wordWeight(w askedWord, holders int) float64 {
	switch {
	case w.idle || w.number == none && isNumber(w.raw):
		return 0
	case !w.bare && w.number == none:
		holders = 0
	case !w.bare:
		holders = int(float64(holders) * float64(ix.words.words[w.number].times) / float64(max(ix.words.tallies[w.term].all, 1)))
	}
	return w.meant * max(ix.rare(max(holders, 1)), common*ix.rare(1))
}

func isNumber(raw string) bool { return strings.Trim(raw, "0123456789") == "" }

// A match is a passage with what it contains of each word, sense and pair of a question, and how
// often.
type match struct {
	id                 uint32
	fits               [maxWords]float64 // how well the best occurrence agrees
	words, same, pairs [maxWords]float64
	score, held        float64
	titled             float64 // the share of its title's words in the question
}

// search returns the passages that answer a question, best first; none if no passage contains
// enough of it.
func (ix *index) search(question, about string, limit int) []hit {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	all := ix.rankedAbout(question, about)
	held := 0.0
	for _, f := range all[:min(len(all), judged)] {
		if ix.answers(f) {
			held = max(held, f.held)
		}
	}
	if held == 0 {
		return nil
	}
	var hits []hit
	for _, f := range all[:min(len(all), limit)] {
		if share := f.score / all[0].score; share >= shareOfBest {
			hits = append(hits, hit{ix.passages[f.id].passage, held * share})
		}
	}
	return hits
}

// answers reports whether a passage contains enough of a question to answer it.
func (ix *index) answers(f match) bool {
	all := f.held + amount*math.Log1p(f.score/ix.rare(1))
	if ix.words.vietnamese && !ix.words.english {
		return all >= ampleSyllables || f.held >= enough && f.titled == 1
	}
	return all >= ample || f.held >= enough
}

// under returns the passages under a heading, in their order.
func (ix *index) under(anchor string, limit int) (hits []hit) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	for i := range ix.passages {
		if p := ix.passages[i].passage; p.anchor == anchor && len(hits) < limit {
			hits = append(hits, hit{p, 1})
		}
	}
	return hits
}

// rankedAbout returns the likeliest passages for a question that depends on the conversation's
// subject, the best first: each is also weighted by that subject.
func (ix *index) rankedAbout(question, about string) []match {
	all := ix.ranked(about + " " + question)
	fits, best := make(map[uint32]float64), 0.0
	for _, f := range ix.ranked(about) {
		fits[f.id], best = f.score, max(best, f.score)
	}
	if best == 0 {
		return all
	}
	least := aside
	if strings.Contains(question, about) {
		least = astray
	}
	for i, f := range all {
		all[i].score *= least + (1-least)*fits[f.id]/best
	}
	slices.SortStableFunc(all, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	return all
}

// ranked returns the likeliest passages, the best first.
func (ix *index) ranked(question string) []match {
	q := ix.ask(question)
	ids := ix.likeliest(q.lists)
	all := make([]match, len(ids))
	pairs := make([]int, len(q.words)) // how many passages contain each
	for i, id := range ids {
		all[i].id = id
		ix.compare(q, &all[i])
		for j, n := range all[i].pairs[:len(q.words)] {
			if n > 0 {
				pairs[j]++
			}
		}
	}
	for i := range all {
		ix.weigh(q, pairs, &all[i])
	}
	slices.SortStableFunc(all, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	return all
}

// compare records what a passage contains of a question.
func (ix *index) compare(q query, f *match) {
	p := &ix.passages[f.id]
	previous := none
	for at, n := range p.words {
		if n == none {
			previous = none
			continue
		}
		w := ix.words.words[n]
		weight := 1.0
		if at < p.titled {
			weight = titleWeight
		}
		for _, i := range q.places[w.term] {
			asked := q.words[i]
			fit := otherMarks
			if asked.number == n || asked.bare || w.bare {
				fit = 1
			}
			f.fits[i] = max(f.fits[i], fit)
			f.words[i] += weight * fit
			if i > 0 && previous != none && q.words[i-1].term == previous && (!asked.idle || !q.words[i-1].idle) {
				f.pairs[i] += weight * fit
			}
		}
		if at < p.titled && len(q.senses) > 0 {
			for _, i := range q.senses[ix.words.sense(previous, w.term, w.sense)] {
				f.same[i] += weight
			}
		}
		previous = w.term
	}
}

// weigh scores a passage, and computes its share of the question.
func (ix *index) weigh(q query, pairs []int, f *match) {
	p := &ix.passages[f.id]
	var got, whole float64
	for i, weight := range q.weight {
		if weight > 0 {
			fit, holders := f.fits[i], len(ix.holding(q.words[i].term))
			rare := ix.rare(holders)
			f.score += rare * ix.saturated(f.words[i], p.length)
			if f.same[i] > 0 {
				fit = max(fit, synonym)
				f.score += synonym * ix.rare(len(ix.senses[q.words[i].sense])) * ix.saturated(f.same[i], p.length)
			}
			got, whole = got+weight*fit, whole+weight
		}
		if f.pairs[i] > 0 {
			rare := ix.rare(pairs[i])
			if ix.words.english && (q.words[i].idle || q.words[i-1].idle) {
				rare *= loose
			}
			f.score += rare * ix.saturated(f.pairs[i], p.length)
			got, whole = got+paired*rare, whole+paired*rare
		}
	}
	f.held = got / max(whole, 1e-9)
	f.titled = ix.titled(q, p)
	f.score *= 1 + named*f.titled
}

// titled returns the share of the words of a passage's title that a question holds.
func (ix *index) titled(q query, p *indexed) float64 {
	words, said := 0, 0
	for _, n := range p.words[:slices.Index(p.words, none)] {
		w := ix.words.words[n]
		if w.idle {
			continue
		}
		words++
		if slices.ContainsFunc(q.places[w.term], func(i int) bool { return q.words[i].number == n || q.words[i].bare || w.bare }) {
			said++
		}
	}
	return float64(said) / float64(max(words, 1))
}
