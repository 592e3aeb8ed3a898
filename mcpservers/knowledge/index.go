package knowledge

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

const (
	// candidates is how many passages are ranked by where they hold the words of a question.
	candidates = 100
	// maxPostings bounds how many postings one question looks at: words that stand in more
	// passages than are left of it say little and cost much.
	maxPostings = 300_000
	// BM25: how soon a word that is repeated says no more, and how much a long passage loses.
	saturation = 1.2
	lengthLoss = 0.75
	// titleTimes is how often a word of the title counts.
	titleTimes = 3
)

// A posting says how often a passage holds a term.
type posting struct {
	passage uint32
	times   uint8
}

// An indexed passage has the numbers of its words, those of its title and keywords first.
type indexed struct {
	passage
	words  []uint32
	titled int // how many of the words are these
	// length counts the terms that carry meaning; 0 of a passage that was removed.
	length float32
}

// An index finds passages by their words. It is safe for concurrent use: files are put in by
// one while others search.
type index struct {
	mu       sync.RWMutex
	words    *vocabulary
	passages []indexed
	postings [][]posting // by term
	files    map[string][]uint32
	live     int
	length   float64 // of all that are live

	pool sync.Pool // of []float32, a score for each passage, all zero
}

func newIndex(words *vocabulary) *index {
	return &index{words: words, files: make(map[string][]uint32)}
}

// put replaces the passages of a file; none remove it.
func (ix *index) put(file string, passages []passage) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, id := range ix.files[file] {
		ix.length -= float64(ix.passages[id].length)
		ix.passages[id] = indexed{}
		ix.live--
	}
	delete(ix.files, file)
	for _, p := range passages {
		ix.add(p)
	}
}

func (ix *index) add(p passage) {
	id := uint32(len(ix.passages)) //nolint:gosec // memory ends long before
	title := append(ix.words.learn(p.title), ix.words.learn(p.keywords)...)
	numbers := slices.Concat(title, ix.words.learn(p.text))
	counts := make(map[uint32]int, len(numbers))
	length := 0
	for i, n := range numbers {
		w := ix.words.words[n]
		if w.idle {
			continue
		}
		times := 1
		if i < len(title) {
			times = titleTimes
		}
		counts[w.term] += times
		length += times
	}
	for len(ix.postings) < len(ix.words.terms) {
		ix.postings = append(ix.postings, nil)
	}
	for term, n := range counts {
		ix.postings[term] = append(ix.postings[term], posting{id, uint8(min(n, math.MaxUint8))}) //nolint:gosec // bounded
	}
	length = max(length, 1)
	ix.passages = append(ix.passages, indexed{passage: p, words: numbers, titled: len(title), length: float32(length)})
	ix.files[p.file] = append(ix.files[p.file], id)
	ix.live++
	ix.length += float64(length)
}

// stale reports whether so many passages were removed that the index should be made anew.
func (ix *index) stale() bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return len(ix.passages) > 1000 && ix.live*2 < len(ix.passages)
}

// compacted returns a copy without what was removed.
func (ix *index) compacted(words *vocabulary) *index {
	fresh := newIndex(words)
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	for _, ids := range ix.files {
		for _, id := range ids {
			fresh.add(ix.passages[id].passage)
		}
	}
	return fresh
}

// size returns how many passages there are.
func (ix *index) size() int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.live
}

// likeliest returns the passages that hold most of the terms, by BM25, the best first.
func (ix *index) likeliest(terms []uint32) []uint32 {
	scores := ix.scores()
	defer ix.pool.Put(scores)
	slices.SortStableFunc(terms, func(a, b uint32) int { return cmp.Compare(len(ix.postings[a]), len(ix.postings[b])) })
	average, left := ix.length/float64(max(ix.live, 1)), maxPostings
	var touched []uint32
	for i, term := range terms {
		list := ix.postings[term]
		if left -= len(list); left < 0 && i > 0 {
			break
		}
		rare := ix.rare(term)
		for _, p := range list {
			length := ix.passages[p.passage].length
			if length == 0 {
				continue
			}
			if (*scores)[p.passage] == 0 {
				touched = append(touched, p.passage)
			}
			n := float64(p.times)
			(*scores)[p.passage] += float32(rare * n * (saturation + 1) / (n + saturation*(1-lengthLoss+lengthLoss*float64(length)/average)))
		}
	}
	best := top(touched, *scores)
	for _, id := range touched {
		(*scores)[id] = 0
	}
	return best
}

// scores returns a score for each passage, all zero.
func (ix *index) scores() *[]float32 {
	if kept, ok := ix.pool.Get().(*[]float32); ok && len(*kept) >= len(ix.passages) {
		return kept
	}
	fresh := make([]float32, len(ix.passages)+len(ix.passages)/8)
	return &fresh
}

// top returns the candidates with the highest scores, the best first.
func top(ids []uint32, scores []float32) []uint32 {
	better := func(a, b uint32) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) }
	best, least := make([]uint32, 0, 2*candidates), float32(0)
	for _, id := range ids {
		if scores[id] < least {
			continue
		}
		if best = append(best, id); len(best) == cap(best) {
			slices.SortFunc(best, better)
			best = best[:candidates]
			least = scores[best[candidates-1]]
		}
	}
	slices.SortFunc(best, better)
	return best[:min(len(best), candidates)]
}

// rare is how rare a term is among the passages.
func (ix *index) rare(term uint32) float64 {
	holders := 0
	if term != none {
		holders = len(ix.postings[term])
	}
	n, df := float64(ix.live), float64(min(holders, ix.live))
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}
