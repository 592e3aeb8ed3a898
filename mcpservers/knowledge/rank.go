package knowledge

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	// amount is the weight of the logarithm of a passage's score, relative to the share of the question
	// that it holds.
	amount = 0.4
	// perhaps is how many passages are offered if none answers the question; deep, how many of a wording
	// are merged with those of others.
	perhaps, deep = 3, 10
	// surely is how many times what suffices a passage must reach to be surely the right one; head, the share of
	// the question that its title and keywords must hold instead. Of questions in the documents' words nearly
	// all reach one of the two, of those in a person's own few: there the first passages are often wrong.
	surely, head = 1.5, 0.5
	// common is the least weight of a word, relative to one that no passage has: a word in most
	// passages does not select one, but confirms the folder.
	common = 0.4
	// otherMarks is the weight of a word that a passage has with other marks: "bão" is a storm,
	// "báo" a newspaper; synonym, of a word with the same sense.
	otherMarks, synonym = 0.4, 0.8
	// slight is the weight of a word that says little of what a question is about ("stupid"); stray, of a
	// name that no passage has.
	slight, stray = 0.6, 0.7
	// seldom is the weight of a word that few passages have, relative to one that only one has.
	seldom = 0.9
	// again is the factor of a passage for each that stands before it and is of the same page.
	again = 0.7
	// paired is the weight of two neighbours that are neighbours in a passage too, relative to an
	// equally rare word; loose is the part of it in English if one of them alone means nothing
	// ("brush my").
	paired, loose = 0.5, 0.5
	// titleWeight is the weight of a word in a title or among the keywords.
	titleWeight = 5
	// named is the bonus of a passage whose whole title is in the question.
	named = 0.5
	// aside is the factor of a passage that does not mention the conversation's subject. If the question itself
	// names a new subject ("and hotels?"), its own words decide.
	aside = 0.5
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
	// others are terms that may stand in place of a word; other has the positions of a term among them.
	others []alternative
	other  map[uint32][]int
	lists  []lookup // of the terms and senses to look up
	// asked has the terms of places and other by their last bits: most words of a passage are none of them,
	// and this tells it faster than the maps.
	asked [4]uint64
}

// asks notes that the query has a term, and mayAsk reports whether it may have one.
func (q *query) asks(term uint32) { q.asked[term/64%4] |= 1 << (term % 64) }

func (q *query) mayAsk(term uint32) bool { return q.asked[term/64%4]&(1<<(term%64)) != 0 }

// An alternative is a term in place of a word of a question.
type alternative struct {
	word int
	rare float64
}

func (ix *index) ask(question string) query {
	words := ix.words.ask(question)
	q := query{
		words: words[:min(len(words), maxWords)], places: make(map[uint32][]int), senses: make(map[uint32][]int), other: make(map[uint32][]int),
	}
	for i, w := range q.words {
		list := ix.holding(w.term)
		weight := ix.wordWeight(w, list.len())
		if w.term != none && len(q.places[w.term]) > 0 {
			weight = 0
		}
		light := 1.0
		if ix.words.light[w.raw] {
			light = slight
		}
		if weight > 0 && list.len() > 0 {
			q.lists = append(q.lists, lookup{list, light})
		}
		held := list.len() > 0
		if w.sense != none {
			senses := ix.senses[w.sense]
			if q.senses[w.sense] == nil && senses.len() > 0 {
				q.lists = append(q.lists, lookup{senses, 1})
			}
			q.senses[w.sense] = append(q.senses[w.sense], i)
			if weight > 0 && !held && senses.len() > 0 {
				weight, held = max(ix.rare(senses.len()), ix.common()), true
			}
		}
		if weight > 0 && w.bare {
			if best := q.replace(ix, i, light); best > 0 && !held {
				weight, held = max(best, ix.common()), true
			}
		}
		if w.term != none {
			q.places[w.term] = append(q.places[w.term], i)
			q.asks(w.term)
		}
		if w.isName && !held {
			light = slight
		}
		q.weight = append(q.weight, weight*light)
	}
	return q
}

// replace adds the terms that may stand in place of a word, and returns the weight of the rarest.
func (q *query) replace(ix *index, word int, light float64) (best float64) {
	for _, other := range ix.same[q.words[word].key] {
		term, known := ix.words.terms.number(other)
		if !known || ix.holding(term).len() == 0 {
			continue
		}
		rare := ix.rare(ix.holding(term).len())
		best = max(best, rare)
		q.other[term] = append(q.other[term], len(q.others))
		q.asks(term)
		q.others = append(q.others, alternative{word, rare})
		q.lists = append(q.lists, lookup{ix.holding(term), synonym * light})
	}
	return best
}

// common returns the least weight of a word. In a language whose words without meaning are not known, the
// most frequent ones weigh nothing.
func (ix *index) common() float64 {
	if !ix.words.english && !ix.words.vietnamese {
		return 0
	}
	return common * ix.rare(1)
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
	return w.meant * max(ix.rare(max(holders, 1)), ix.common())
}

func isNumber(raw string) bool { return strings.Trim(raw, "0123456789") == "" }

// A match is a passage with what it contains of a question.
type match struct {
	id          uint32
	fits        []float64 // for each word of the question, how well the best occurrence agrees
	times       []float64 // how often it occurs
	pairs       []float64 // how often it occurs behind the word before it
	same        []float64 // the score of the best word in place of it
	senses      []float64 // the score of those with the same sense
	heads       []float64 // for each word, how well the best occurrence in its title or among its keywords agrees
	score, held float64
	headed      float64 // the share of the question that its title and keywords hold
	titled      float64 // the share of its title's words in the question
	asked       int     // the number of the question's words that matter
	meant       bool    // it holds a word that is more than slight
	rare        bool    // it holds a word that few passages have
}

// search returns the passages for a question that depends on the conversation's subject, the best first;
// whether they answer it, since the first holds enough of it; and whether that one is surely right.
func (ix *index) search(question, about string) (all []match, answers, isClear bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	all = ix.rankedAbout(question, about)
	if len(all) == 0 || !ix.answers(all[0]) {
		return ix.spread(slices.DeleteFunc(all, func(f match) bool { return !f.meant }), deep), false, false
	}
	best, held := all[0].score, all[0].held
	isClear = ix.isClear(all[0])
	all = ix.spread(slices.DeleteFunc(all, func(f match) bool { return f.score < shareOfBest*best }), deep)
	for i := range all {
		all[i].score *= held / best
	}
	return all, true, isClear
}

// isClear reports whether a passage that answers a question is surely the right one.
func (ix *index) isClear(f match) bool {
	return f.headed >= head || ix.strength(f) >= surely*ix.least.strength
}

// answers reports whether a passage contains enough of a question to answer it.
func (ix *index) answers(f match) bool { return ix.least.isMet(f, ix.strength(f)) }

func (ix *index) strength(f match) float64 { return f.held + amount*math.Log1p(f.score/ix.rare(1)) }

// spread returns the best passages in an order in which those of one page do not stand before all others.
func (ix *index) spread(all []match, limit int) []match {
	var out []match
	before := make(map[uint32]float64) // the factor of the next passage of a page
	for len(out) < limit && len(all) > 0 {
		best, most := 0, 0.0
		for i, f := range all {
			score := f.score * cmp.Or(before[ix.passages[f.id].page], 1)
			if score > most {
				best, most = i, score
			}
		}
		page := ix.passages[all[best].id].page
		before[page] = cmp.Or(before[page], 1) * again
		out = append(out, all[best])
		all = slices.Delete(all, best, best+1)
	}
	return out
}

// under returns the passages under a heading, in their order.
func (ix *index) under(anchor string, limit int) (hits []hit) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	hash := ix.hash(anchor)
	for i, p := range ix.passages {
		if p.length == 0 || p.anchor != hash || len(hits) == limit {
			continue
		}
		if p := ix.passage(uint32(i)); p.anchor == anchor {
			hits = append(hits, hit{p, 1})
		}
	}
	return hits
}

// rankedAbout returns the likeliest passages for a question that depends on the conversation's
// subject, the best first: each is also weighted by that subject.
func (ix *index) rankedAbout(question, about string) []match {
	all := ix.ranked(about + " " + question)
	fits, best := make(map[uint32]match), 0.0
	for _, f := range ix.ranked(about) {
		fits[f.id], best = f, max(best, f.score)
	}
	if best == 0 {
		return all
	}
	least, isNamed := aside, strings.Contains(question, about)
	if isNamed {
		least = 0
	}
	for i, f := range all {
		fit := fits[f.id]
		all[i].score *= least + (1-least)*fit.score/best
		if isNamed && fit.held > f.held { // the rest of the question is what was spoken of before
			all[i].held, all[i].asked = fit.held, fit.asked
		}
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
	others := make([]float64, len(q.others))
	const perMatch = 6
	free := make([]float64, perMatch*len(ids)*len(q.words))
	numbers := func() (own []float64) {
		own, free = free[:len(q.words)], free[len(q.words):]
		return own
	}
	for i, id := range ids {
		all[i] = match{id: id, fits: numbers(), times: numbers(), pairs: numbers(), same: numbers(), senses: numbers(), heads: numbers()}
		ix.compare(q, &all[i], others)
		for j, n := range all[i].pairs {
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

// compare records what a passage contains of a question. It counts in others how often the alternatives
// occur.
func (ix *index) compare(q query, f *match, others []float64) {
	p := &ix.passages[f.id]
	clear(others)
	var senses [maxWords]float64
	previous := none
	for at, n := range ix.wordsOf(f.id) {
		if n == none {
			previous = none
			continue
		}
		w := ix.words.words[n]
		weight := 1.0
		if at < int(p.titled) {
			weight = titleWeight
		}
		if !q.mayAsk(w.term) && (at >= int(p.titled) || len(q.senses) == 0) {
			previous = w.term
			continue
		}
		for _, i := range q.places[w.term] {
			asked := q.words[i]
			fit := otherMarks
			if asked.number == n || asked.bare || w.bare {
				fit = 1
			}
			f.fits[i] = max(f.fits[i], fit)
			if at < int(p.titled) {
				f.heads[i] = max(f.heads[i], fit)
			}
			f.times[i] += weight * fit
			if i > 0 && previous != none && q.words[i-1].term == previous && (!asked.idle || !q.words[i-1].idle) {
				f.pairs[i] += weight * fit
			}
		}
		for _, i := range q.other[w.term] {
			others[i] += weight
		}
		if at < int(p.titled) && len(q.senses) > 0 {
			for _, i := range q.senses[ix.words.sense(previous, w.term, w.sense)] {
				senses[i] += weight
			}
		}
		previous = w.term
	}
	for i, times := range others {
		other := q.others[i]
		f.same[other.word] = max(f.same[other.word], synonym*other.rare*ix.saturated(times, p.length))
	}
	for i := range q.words {
		if senses[i] > 0 {
			f.senses[i] = max(f.senses[i], synonym*ix.rare(ix.senses[q.words[i].sense].len())*ix.saturated(senses[i], p.length))
		}
	}
}

// weigh scores a passage, and computes its share of the question.
func (ix *index) weigh(q query, pairs []int, f *match) {
	p := &ix.passages[f.id]
	var got, whole, headed, all float64
	for i, weight := range q.weight {
		if weight > 0 {
			fit, light := f.fits[i], 1.0
			if ix.words.light[q.words[i].raw] {
				light = slight
			}
			own := 0.0
			if fit > 0 {
				own = ix.rare(ix.holding(q.words[i].term).len()) * ix.saturated(f.times[i], p.length)
			}
			if f.same[i]+f.senses[i] > 0 {
				fit = max(fit, synonym)
			}
			f.score += f.senses[i] + light*max(own, f.same[i])
			f.meant = f.meant || fit > 0 && light == 1
			f.rare = f.rare || f.fits[i] == 1 && light == 1 && ix.rare(ix.holding(q.words[i].term).len()) >= seldom*ix.rare(1)
			got, whole = got+weight*fit, whole+weight
			titled := f.heads[i]
			if f.senses[i] > 0 {
				titled = max(titled, synonym)
			}
			headed, all = headed+weight*titled, all+weight
			f.asked++
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
	f.headed = headed / max(all, 1e-9)
	f.titled = ix.titled(q, f.id)
	f.score *= 1 + named*f.titled
}

// titled returns the share of the words of a passage's title that a question holds.
func (ix *index) titled(q query, id uint32) float64 {
	words, said := 0, 0
	for _, n := range ix.wordsOf(id) {
		if n == none {
			break
		}
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
