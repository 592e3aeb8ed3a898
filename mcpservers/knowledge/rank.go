package knowledge

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	// ample is what one of the first passages, so many are judged, must come to: the share that it
	// holds of what a question asks for, each word as much as it is rare, and amount times the
	// logarithm of its score in words that only one passage has. Below it the question is none of the
	// folder's, unless the share alone is enough. What stands between spaces in Vietnamese is a
	// syllable, which many passages share: there more is needed, or the whole title.
	ample, ampleSyllables, amount = 1.09, 1.35, 0.4
	enough, judged                = 0.65, 3
	// common is the least that a word counts, beside one that no passage has: one that stands in
	// most does not tell which is meant, but that the folder is.
	common = 0.4
	// otherMarks is what a word counts where a passage has it with other marks: "bão" is a storm,
	// "báo" a newspaper; synonym, where it has one of the same sense.
	otherMarks, synonym = 0.4, 0.8
	// paired is what two neighbours count that stand so in a passage too, beside a word as rare; loose
	// is how much of that in English, where one of them means nothing by itself ("brush my").
	paired, loose = 0.5, 0.5
	// titleWeight is how often a word counts in a title or among the keywords.
	titleWeight = 5
	// named is how much more a passage counts whose whole title a question holds.
	named = 0.5
	// aside is what a passage counts that says nothing of what the conversation is about; astray, where
	// the question itself says what that is now ("and hotels?").
	aside, astray = 0.5, 0.2
	// shareOfBest is below which a passage is left out beside the best.
	shareOfBest = 0.3
	// maxWords bounds the words of a question.
	maxWords = 64
)

// A hit is a passage with its score, between 0 and 1.
type hit struct {
	passage
	score float64
}

// A query is a question as the index reads it.
type query struct {
	words  []askedWord
	weight []float64 // of each word; 0 of one that is idle or stood before
	// places are where a term stands among the words, senses where a sense does.
	places, senses map[uint32][]int
	lists          [][]posting // of terms and senses to look up
}

func (ix *index) ask(question string) query {
	words := ix.words.ask(question)
	q := query{words: words[:min(len(words), maxWords)], places: make(map[uint32][]int), senses: make(map[uint32][]int)}
	for i, w := range q.words {
		list := ix.holding(w.term)
		weight := ix.tells(w, len(list))
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

// tells is how much a word of a question says whose term so many passages hold: one that is
// written with marks as much as it is rare in that form.
func (ix *index) tells(w askedWord, holders int) float64 {
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

// A found passage is told by what of each word, sense and pair of a question it holds, how often.
type found struct {
	id                 uint32
	fits               [maxWords]float64 // how well the best of them agrees
	words, same, pairs [maxWords]float64
	score, held        float64
	titled             float64 // the share of the words of its title that the question holds
}

// search returns the passages that answer a question, best first; none when no passage holds
// enough of what it asks for.
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

// answers reports whether a passage holds enough of a question for the question to be one of the folder's.
func (ix *index) answers(f found) bool {
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

// rankedAbout returns the likeliest passages for a question that leans on what a conversation is
// about, the best first: each counts as much as it fits that too.
func (ix *index) rankedAbout(question, about string) []found {
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
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	return all
}

// ranked returns the likeliest passages, the best first.
func (ix *index) ranked(question string) []found {
	q := ix.ask(question)
	ids := ix.likeliest(q.lists)
	all := make([]found, len(ids))
	pairs := make([]int, len(q.words)) // how many of them hold each
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
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	return all
}

// compare notes what a passage holds of a question.
func (ix *index) compare(q query, f *found) {
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

// weigh scores a passage, and says how much of what is asked for it holds.
func (ix *index) weigh(q query, pairs []int, f *found) {
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
