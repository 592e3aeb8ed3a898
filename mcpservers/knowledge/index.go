package knowledge

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
)

const (
	// candidates is how many passages are ranked in detail.
	candidates = 100
	// maxPostings bounds the postings that one question reads: words in more passages than the
	// rest of it say little and cost much.
	maxPostings = 300_000
	// BM25: how fast a repeated word stops counting, and the penalty of a long passage.
	saturation = 1.2
	lengthLoss = 0.75
	// titleTimes is the weight of a title word.
	titleTimes = 3
)

// A posting is how often a passage contains a term.
type posting struct {
	passage uint32
	times   uint8
}

// An indexed passage has the numbers of its words, with those of its title and keywords first.
type indexed struct {
	passage
	words  []uint32
	titled int // the number of title and keyword words
	// length counts the meaningful terms; 0 for a removed passage.
	length float32
}

// An index finds passages by their words. It is safe for concurrent use: one goroutine adds files
// while others search.
type index struct {
	mu       sync.RWMutex
	words    *vocabulary
	passages []indexed
	postings [][]posting // by term
	senses   map[uint32][]posting
	files    map[string][]uint32
	live     int
	length   float64 // of all live passages

	pool sync.Pool // of []float32, a score for each passage, all zero
}

func newIndex(words *vocabulary) *index {
	return &index{words: words, senses: make(map[uint32][]posting), files: make(map[string][]uint32)}
}

// put replaces the passages of a file; an empty list removes them.
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
	numbers := ix.words.learn(p.title)
	for phrase := range strings.SplitSeq(p.keywords, ",") {
		numbers = append(append(numbers, none), ix.words.learn(phrase)...)
	}
	titled := len(numbers)
	numbers = slices.Concat(numbers, []uint32{none}, ix.words.learn(p.text))
	counts, senses := make(map[uint32]int, len(numbers)), make(map[uint32]int)
	length := 0
	previous := none
	for i, n := range numbers {
		if n == none {
			previous = none
			continue
		}
		w := ix.words.words[n]
		if sense := ix.words.sense(previous, w.term, w.sense); sense != none && i < titled {
			senses[sense]++
		}
		if previous = w.term; w.idle {
			continue
		}
		times := 1
		if i < titled {
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
	for sense, n := range senses {
		ix.senses[sense] = append(ix.senses[sense], posting{id, uint8(min(n, math.MaxUint8))}) //nolint:gosec // bounded
	}
	length = max(length, 1)
	ix.passages = append(ix.passages, indexed{passage: p, words: numbers, titled: titled, length: float32(length)})
	ix.files[p.file] = append(ix.files[p.file], id)
	ix.live++
	ix.length += float64(length)
}

// stale reports whether so many passages were removed that the index should be rebuilt.
func (ix *index) stale() bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return len(ix.passages) > 1000 && ix.live*2 < len(ix.passages)
}

// compacted returns a copy without removed passages.
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

// size returns the number of passages.
func (ix *index) size() int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.live
}

// likeliest returns the passages that best match some terms and senses, given by their postings,
// by BM25, the best first.
func (ix *index) likeliest(lists [][]posting) []uint32 {
	scores := ix.scores()
	defer ix.pool.Put(scores)
	slices.SortStableFunc(lists, func(a, b []posting) int { return cmp.Compare(len(a), len(b)) })
	left := maxPostings
	var touched []uint32
	for i, list := range lists {
		if left -= len(list); left < 0 && i > 0 {
			break
		}
		rare := ix.rare(len(list))
		for _, p := range list {
			length := ix.passages[p.passage].length
			if length == 0 {
				continue
			}
			if (*scores)[p.passage] == 0 {
				touched = append(touched, p.passage)
			}
			(*scores)[p.passage] += float32(rare * ix.saturated(float64(p.times), length))
		}
	}
	best := top(touched, *scores)
	for _, id := range touched {
		(*scores)[id] = 0
	}
	return best
}

// saturated returns a term's weight for its number of occurrences in a passage of a length.
func (ix *index) saturated(times float64, length float32) float64 {
	average := ix.length / float64(max(ix.live, 1))
	return times * (saturation + 1) / (times + saturation*(1-lengthLoss+lengthLoss*float64(length)/average))
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

// rare returns the weight of a term that this many passages contain.
func (ix *index) rare(holders int) float64 {
	n, df := float64(ix.live), float64(min(holders, ix.live))
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}

// holding returns the postings of a term.
func (ix *index) holding(term uint32) []posting {
	if int(term) >= len(ix.postings) { // unknown, or a synonym in no passage
		return nil
	}
	return ix.postings[term]
}
