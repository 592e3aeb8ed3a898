package knowledge

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
)

const (
	// A threshold is learned from as many questions as samples, or fewSamples if the index has more than
	// manyPassages, of shortest to longest words; unknown is the part of their words that no passage has.
	samples, fewSamples, manyPassages = 1000, 200, 10_000
	shortest, longest                 = 3, 8
	unknown                           = 0.5
	// chance is the part of these questions that must find nothing.
	chance = 0.94
)

// A threshold is what one of the first passages must reach to answer a question. Its strength is the share
// of the question that it holds, with each word weighted by rarity, plus the logarithm of its score in words
// that only one passage has.
//
// What suffices depends on the folder: in a small one, or where words are syllables as in Vietnamese,
// unrelated words stand together by chance more often. So it is learned from questions of words that were
// drawn from anywhere in the folder, together with words that it does not have: hardly any of them may find
// something.
type threshold struct {
	strength float64
	share    float64 // the least share that suffices, of such a question
	set      bool    // the share, by whoever runs the folder
	learned  bool
	size     int // of the index when it was learned
}

// usual is the threshold of a folder that is not learned yet.
func usual() threshold { return threshold{strength: 1.1, share: 0.5} }

// isMet reports whether a passage of a strength answers a question. A share of it suffices if the passage's
// whole title is in it, and for a single word any passage that has it, or one of the same sense.
func (t threshold) isMet(f match, strength float64) bool {
	if t.set {
		return f.held >= t.share
	}
	return strength >= t.strength || f.held >= synonym && f.asked == 1 || f.titled == 1 && f.held >= t.share
}

// isDue reports whether the index has changed much since the threshold was learned.
func (t threshold) isDue(size int) bool {
	return !t.learned || 5*max(size-t.size, t.size-size) > t.size
}

// learned returns the threshold by questions that mean nothing.
func (ix *index) learned() threshold {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	least := ix.least
	least.learned, least.size = true, ix.live
	if ix.live == 0 {
		return least
	}
	n := samples
	if ix.live > manyPassages {
		n = fewSamples
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	questions := make([]string, n)
	for i := range questions {
		words := make([]string, shortest+i%(longest-shortest+1))
		for j := range words {
			words[j] = ix.anyWord(random)
			if random.Float64() < unknown {
				words[j] = "zq" + string(rune('a'+j))
			}
		}
		questions[i] = strings.Join(words, " ")
	}
	strengths, shares := make([]float64, n), make([]float64, n)
	var asking sync.WaitGroup // on all processors: the first question waits for it
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		asking.Go(func() {
			for i := w; i < n; i += workers {
				if all := ix.ranked(questions[i]); len(all) > 0 {
					strengths[i], shares[i] = ix.strength(all[0]), all[0].held
				}
			}
		})
	}
	asking.Wait()
	slices.Sort(strengths)
	slices.Sort(shares)
	at := int(chance * float64(n))
	least.strength = strengths[at]
	if !least.set {
		least.share = shares[at]
	}
	return least
}

// anyWord returns a word with a meaning of any passage. A word with marks comes with the next, since it may
// be a syllable.
func (ix *index) anyWord(random *rand.Rand) string {
	for range longest {
		id := uint32(random.IntN(len(ix.passages))) //nolint:gosec // not negative
		if ix.passages[id].length == 0 {
			continue
		}
		var words []uint32
		for _, n := range ix.wordsOf(id) {
			if n != none && !ix.words.words[n].idle {
				words = append(words, n)
			}
		}
		if len(words) == 0 {
			continue
		}
		at := random.IntN(len(words))
		word := ix.words.numbers.at(words[at])
		if !ix.words.words[words[at]].bare && at+1 < len(words) {
			word += " " + ix.words.numbers.at(words[at+1])
		}
		return word
	}
	return ""
}
