package knowledge

import (
	"cmp"
	"slices"
)

const (
	// threshold is the share of what a question asks for that a passage must hold, each word
	// as much as it is rare: below it a question is none of the folder's.
	threshold = 0.34
	// otherMarks is what a word counts that differs in its marks from the one asked for:
	// "bão" is a storm, "báo" a newspaper.
	otherMarks = 0.4
	// strange is what a word counts that stands nowhere in the folder: people tell stories.
	strange = 0.6
	// oneOfMany is what a passage is worth that holds at most one word as it is asked for, of several: "vàng" is gold
	// and yellow.
	oneOfMany = 0.5
	// What the parts of a score weigh.
	heldShare, pairShare, titleShare, rankShare = 0.65, 0.15, 0.1, 0.1
	// shareOfBest is below which a passage is left out beside the best.
	shareOfBest = 0.5
	// maxWords bounds the words of a question.
	maxWords = 64
)

// A hit is a passage with its score, between 0 and 1.
type hit struct {
	passage
	score float64
}

// search returns the passages that answer a question, best first; none when no passage holds
// enough of what it asks for.
func (ix *index) search(question string, limit int) []hit {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	q := ix.ask(question)
	if len(q.known) == 0 {
		return nil
	}
	var hits []hit
	for i, id := range ix.likeliest(q.known) {
		held, score := ix.score(&ix.passages[id], q)
		if held >= threshold {
			hits = append(hits, hit{ix.passages[id].passage, score + rankShare*(1-float64(i)/candidates)})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	hits = hits[:min(len(hits), limit)]
	return slices.DeleteFunc(hits, func(h hit) bool { return h.score < shareOfBest*hits[0].score })
}

// A query is a question as the index reads it.
type query struct {
	words  []askedWord
	weight []float64 // of each word; 0 of one that is idle or stood before
	whole  float64   // their sum
	known  []uint32  // the terms that some passage holds
	// places are where a term stands among the words.
	places map[uint32][]int
}

func (ix *index) ask(question string) query {
	words := ix.words.ask(question)
	q := query{words: words[:min(len(words), maxWords)], places: make(map[uint32][]int)}
	for i, w := range q.words {
		weight := 0.0
		switch {
		case w.idle || w.term != none && slices.Contains(q.known, w.term):
		case w.term == none:
			weight = strange * ix.rare(none)
		default:
			weight = ix.rare(w.term)
			q.known = append(q.known, w.term)
		}
		if w.term != none {
			q.places[w.term] = append(q.places[w.term], i)
		}
		q.weight, q.whole = append(q.weight, weight), q.whole+weight
	}
	return q
}

// score returns how much of what is asked for a passage holds, and its score with where the
// words stand.
func (ix *index) score(p *indexed, q query) (held, score float64) {
	var fits, titled [maxWords]float64
	var paired [maxWords]bool
	previous := none
	for at, n := range p.words {
		w := ix.words.words[n]
		for _, i := range q.places[w.term] {
			word := q.words[i]
			fit := otherMarks
			if word.number == n || word.bare || w.bare {
				fit = 1
			}
			fits[i] = max(fits[i], fit)
			if at < p.titled {
				titled[i] = max(titled[i], fit)
			}
			paired[i] = paired[i] || i > 0 && at != p.titled && previous != none && q.words[i-1].term == previous
		}
		previous = w.term
	}
	var got, inTitle float64
	couples, joined, asked, matched := 0, 0, 0, 0
	for i, weight := range q.weight {
		got += weight * fits[i]
		inTitle += weight * titled[i]
		if weight > 0 {
			asked++
		}
		if weight > 0 && fits[i] == 1 {
			matched++
		}
		if i > 0 && (!q.words[i].idle || !q.words[i-1].idle) {
			couples++
			if paired[i] {
				joined++
			}
		}
	}
	held = got / max(q.whole, 1e-9)
	if matched <= 1 && asked > 1 {
		held *= oneOfMany
	}
	return held, heldShare*held + pairShare*float64(joined)/float64(max(couples, 1)) + titleShare*inTitle/max(q.whole, 1e-9)
}
