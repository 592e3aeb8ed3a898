package knowledge

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"math"
	"path"
	"runtime/debug"
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

// An indexed passage has what is needed to rank it; its text is in the store.
type indexed struct {
	page   uint32 // the number of its file; of an article with a source of its own, one of its own
	file   uint32 // its number
	anchor uint32 // a hash
	from   uint32 // where its words begin, in the stream
	titled uint32 // how many words, and gaps between phrases, are of its title, keywords and path
	// length counts the meaningful terms; 0 for a removed passage.
	length float32
}

// An index finds passages by their words. It is safe for concurrent use: one goroutine adds files
// while others search.
type index struct {
	mu       sync.RWMutex
	words    *vocabulary
	same     thesaurus
	passages []indexed
	texts    store
	// stream has the numbers of the words of all passages, each plus one and as a varint; 0 is a gap
	// between two phrases. The words of a title, its keywords and its path come before those of the text.
	stream   []byte
	postings []postings // by term
	senses   map[uint32]*postings
	files    map[string]span
	names    []string // of the files, by number
	seed     maphash.Seed
	live     int
	length   float64 // of all live passages
	least    threshold

	pool sync.Pool // of []float32, a score for each passage, all zero
}

// A span is the numbers of the passages of a file.
type span struct{ from, to uint32 }

func newIndex(words *vocabulary) *index {
	return &index{
		words: words, same: newThesaurus(words), senses: make(map[uint32]*postings), files: make(map[string]span),
		seed: maphash.MakeSeed(), least: usual(),
	}
}

// put replaces the passages of a file; an empty list removes them.
func (ix *index) put(file string, passages []passage) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for id := ix.files[file].from; id < ix.files[file].to; id++ {
		ix.length -= float64(ix.passages[id].length)
		ix.passages[id].length = 0
		ix.live--
	}
	delete(ix.files, file)
	if len(passages) == 0 {
		return
	}
	from := uint32(len(ix.passages)) //nolint:gosec // memory ends long before
	ix.names = append(ix.names, strings.Clone(file))
	for _, p := range passages {
		ix.add(p)
	}
	ix.files[file] = span{from, uint32(len(ix.passages))} //nolint:gosec // as above
}

// add adds a passage of the latest file.
func (ix *index) add(p passage) {
	id := uint32(len(ix.passages)) //nolint:gosec // memory ends long before
	numbers := ix.words.learn(p.title)
	for phrase := range strings.SplitSeq(p.keywords, ",") {
		numbers = append(append(numbers, none), ix.words.learn(phrase)...)
	}
	keyed := len(numbers)
	if p.source == "" { // else its page is another than its file
		numbers = append(append(numbers, none), ix.words.learn(strings.TrimSuffix(p.file, path.Ext(p.file)))...)
	}
	titled := len(numbers)
	numbers = slices.Concat(numbers, []uint32{none}, ix.words.learn(p.text))
	counts, senses := make(map[uint32]int, len(numbers)), make(map[uint32]int)
	length := 0
	previous := none
	from := uint32(len(ix.stream)) //nolint:gosec // memory ends long before
	for i, n := range numbers {
		ix.stream = binary.AppendUvarint(ix.stream, uint64(n+1)) // none is 0
		if n == none {
			previous = none
			continue
		}
		w := ix.words.words[n]
		if sense := ix.words.sense(previous, w.term, w.sense); sense != none && i < keyed {
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
	for len(ix.postings) < ix.words.terms.size() {
		ix.postings = append(ix.postings, postings{})
	}
	for term, n := range counts {
		ix.postings[term].add(id, n)
	}
	for sense, n := range senses {
		if ix.senses[sense] == nil {
			ix.senses[sense] = new(postings)
		}
		ix.senses[sense].add(id, n)
	}
	length = max(length, 1)
	file := uint32(len(ix.names) - 1) //nolint:gosec // as above
	page := file
	if p.source != "" {
		page = ^id
	}
	ix.passages = append(ix.passages, indexed{
		page: page, file: file, anchor: ix.hash(p.anchor), from: from, titled: uint32(titled), length: float32(length), //nolint:gosec // as above
	})
	ix.texts.add(p)
	ix.live++
	ix.length += float64(length)
}

func (ix *index) hash(anchor string) uint32 {
	return uint32(maphash.String(ix.seed, anchor)) //nolint:gosec // the low half suffices
}

// passage returns a passage with its text.
func (ix *index) passage(id uint32) passage {
	p := ix.texts.at(id)
	p.file = ix.names[ix.passages[id].file]
	p.part = int(id-ix.files[p.file].from) + 1
	return p
}

// read returns a passage, also while others are added.
func (ix *index) read(id uint32) passage {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.passage(id)
}

// readEach yields passages with their ids, also while others are added.
func (ix *index) readEach(ids []uint32) iter.Seq2[uint32, passage] {
	return func(yield func(uint32, passage) bool) {
		for _, id := range ids {
			if !yield(id, ix.read(id)) {
				return
			}
		}
	}
}

// wordsOf yields the places and numbers of the words of a passage; none is a gap between two phrases.
func (ix *index) wordsOf(id uint32) iter.Seq2[int, uint32] {
	words := ix.stream[ix.passages[id].from:]
	if int(id)+1 < len(ix.passages) {
		words = words[:ix.passages[id+1].from-ix.passages[id].from]
	}
	return func(yield func(int, uint32) bool) {
		for at := 0; len(words) > 0; at++ {
			n, size := binary.Uvarint(words)
			words = words[size:]
			if !yield(at, uint32(n)-1) { //nolint:gosec // as it was added
				return
			}
		}
	}
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
	fresh.least.set, fresh.least.share = ix.least.set, ix.least.share
	spans := make([]string, 0, len(ix.files))
	for file := range ix.files {
		spans = append(spans, file)
	}
	slices.Sort(spans)
	for _, file := range spans {
		var all []passage
		for id := ix.files[file].from; id < ix.files[file].to; id++ {
			all = append(all, ix.passage(id))
		}
		fresh.put(file, all)
	}
	return fresh
}

// settle gives memory back that only a growing index needs, and learns the threshold, if much has changed.
func (ix *index) settle() {
	if !ix.isUnsettled() {
		return
	}
	ix.clip()
	least := ix.learned()
	ix.mu.Lock()
	ix.least = least
	ix.mu.Unlock()
	if least.size > manyPassages {
		debug.FreeOSMemory() // else it would come back only after minutes, and be twice what is used
	}
}

func (ix *index) isUnsettled() bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.least.isDue(ix.live)
}

func (ix *index) clip() {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.texts.settle()
	clip(&ix.passages)
	clip(&ix.stream)
	clip(&ix.postings)
	clip(&ix.names)
	for i := range ix.postings {
		clip(&ix.postings[i].data)
	}
}

// size returns the number of passages.
func (ix *index) size() int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.live
}

// A lookup is the postings of a term or sense, with their weight.
type lookup struct {
	*postings
	weight float64
}

// likeliest returns the passages that best match some terms and senses, by BM25, the best first.
func (ix *index) likeliest(lists []lookup) []uint32 {
	scores := ix.scores()
	defer ix.pool.Put(scores)
	slices.SortStableFunc(lists, func(a, b lookup) int { return cmp.Compare(a.count, b.count) })
	left := maxPostings
	var touched []uint32
	for i, list := range lists {
		if left -= list.len(); left < 0 && i > 0 {
			break
		}
		rare := ix.rare(list.len()) * list.weight
		for id, times := range list.all() {
			length := ix.passages[id].length
			if length == 0 {
				continue
			}
			if (*scores)[id] == 0 {
				touched = append(touched, id)
			}
			(*scores)[id] += float32(rare * ix.saturated(times, length))
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
func (ix *index) holding(term uint32) *postings {
	if int(term) >= len(ix.postings) { // unknown, or a synonym in no passage
		return nil
	}
	return &ix.postings[term]
}
