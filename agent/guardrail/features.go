package guardrail

import (
	"math"
	"strconv"
	"strings"
)

// tableBits is the size of the weight table: features are hashed into so many
// buckets, and two that share one share its weight.
const (
	tableBits = 17
	tableSize = 1 << tableBits
)

// Character runs of these lengths are features. They see through typing mistakes
// and endings that no word list knows.
const (
	shortestRun = 3
	longestRun  = 5
)

// How much each family of features counts; chosen by cross-validation.
const (
	runShare  = 1
	wordShare = 1.2
	signValue = 1.5
	// strangeValue is of each sign of words that the topic's examples never used.
	strangeValue = 0.5
	sumValue     = 0.5
	sumLimit     = 6
)

// A feature is a bucket of the weight table and how much it counts in this message.
type feature struct {
	bucket uint32
	value  float32
}

// features turns a reading into what the classifier weighs: character runs, words and
// pairs of words, and which tiers of the lexicon spoke. After an exchange the message
// is read as part of a conversation on the topic, where "how much?" means
// something, and its words count a second time under names of their own. The first
// list is of the message alone, and the beginning of the second. known tells the
// terms that in-domain examples used.
func (r reading) features(known func(uint32) bool) (alone, after []feature) {
	folded := foldedText(r.words)
	fs := make([]feature, 0, 3*len(folded)+8*len(r.words)+64)
	fs = appendRuns(fs, folded)
	fs = appendWords(fs, "w", r.words, wordShare)
	fs = appendSigns(fs, "s", r)
	fs = appendStrangers(fs, "s", r, known)
	fs = appendClasses(fs, "s", r)
	fs = appendClauses(fs, r, known)
	n := len(fs)
	fs = appendWords(fs, "after", r.words, 1)
	fs = appendSigns(fs, "after", r)
	fs = appendStrangers(fs, "after", r, known)
	fs = appendClasses(fs, "after", r)
	fs = appendTies(fs, r)
	return fs[:n:n], fs
}

// storyWords is from how many words on a message tells a story, in which words of
// everyday life speak less against the topic.
const storyWords = 28

// shortMessage is how many words a message that leans on another mostly has at most.
const shortMessage = 8

// appendTies adds what makes a message lean on the exchange before it.
func appendTies(fs []feature, r reading) []feature {
	if r.leans {
		fs = append(fs, feature{bucket: hashOf("after", "leans"), value: signValue})
	}
	fs = append(fs, feature{bucket: hashOf("after", "content", strconv.Itoa(min(r.content, 6))), value: signValue})
	if len(r.words) <= shortMessage && r.against() == 0 && r.hits[tierAdjacent] == 0 && r.marker == "" {
		fs = append(fs, feature{bucket: hashOf("after", "short"), value: signValue})
	}
	return fs
}

func foldedText(words []word) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, w := range words {
		b.WriteString(w.folded)
		b.WriteByte(' ')
	}
	return b.String()
}

// appendRuns adds the character runs, of equal length together whatever the
// length of the message.
func appendRuns(fs []feature, text string) []feature {
	from := len(fs)
	for i := range len(text) {
		h := hashStart('c')
		for n := 0; n < longestRun && i+n < len(text); n++ {
			h = hashByte(h, text[i+n])
			if n+1 >= shortestRun {
				fs = append(fs, feature{bucket: bucketOf(h)})
			}
		}
	}
	return even(fs, from, runShare)
}

// appendWords adds single words and pairs, folded and, where they carry marks, as
// written.
func appendWords(fs []feature, name string, words []word, share float64) []feature {
	from := len(fs)
	for i, w := range words {
		fs = append(fs, feature{bucket: hashOf(name, "", w.folded)})
		if !w.bare {
			fs = append(fs, feature{bucket: hashOf(name, "raw", w.raw)})
		}
		if i+1 < len(words) {
			fs = append(fs, feature{bucket: hashOf(name, w.folded, words[i+1].folded)})
			if !w.bare || !words[i+1].bare {
				fs = append(fs, feature{bucket: hashOf(name, w.raw, words[i+1].raw)})
			}
		}
	}
	return even(fs, from, share)
}

// even gives the features from an index on the same value, so that their squares
// sum to share.
func even(fs []feature, from int, share float64) []feature {
	n := len(fs) - from
	value := float32(math.Sqrt(share / float64(max(n, 1))))
	for i := from; i < len(fs); i++ {
		fs[i].value = value
	}
	return fs
}

// appendSigns adds what the lexicon saw, alone and in pairs: a phrase of the topic
// beside one of another subject is a case of its own.
func appendSigns(fs []feature, name string, r reading) []feature {
	add := func(sign string) {
		fs = append(fs, feature{bucket: hashOf(name, "sign", sign), value: signValue})
	}
	add("any")
	fs = append(fs, feature{bucket: hashOf(name, "sum", ""), value: float32(max(-sumLimit, min(sumLimit, r.sum()))) * sumValue})
	add("length " + strconv.Itoa(min(len(r.words), 24)/3))
	if len(r.words) >= storyWords {
		add("story " + strconv.Itoa(min(r.hits[tierAdmit]+r.hits[tierRelated], 4)) + strconv.FormatBool(r.hits[tierTask] > 0))
	}
	if r.marker != "" {
		add("marker")
	}
	if r.turns {
		add("turns " + strconv.FormatBool(r.against()+r.hits[tierAdjacent] > 0))
	}
	none := true
	for t := tierAdmit; t < tiers; t++ {
		if r.hits[t] == 0 {
			continue
		}
		none = false
		add("tier " + strconv.Itoa(int(t)))
		if r.hits[t] > 1 {
			add("twice " + strconv.Itoa(int(t)))
		}
		for u := t + 1; u < tiers; u++ {
			if r.hits[u] > 0 {
				add("pair " + strconv.Itoa(int(t)) + strconv.Itoa(int(u)))
			}
		}
	}
	if none {
		add("none")
	}
	if r.inFavour() == 0 {
		add("nothing in favour")
	}
	if r.against() == 0 {
		add("nothing against")
	}
	return fs
}

// The hash is FNV-1a, written out so that no feature allocates.
const (
	hashOffset = 2166136261
	hashPrime  = 16777619
)

func hashStart(kind byte) uint32 { return hashByte(hashOffset, kind) }

func hashByte(h uint32, b byte) uint32 { return (h ^ uint32(b)) * hashPrime }

func hashOf(parts ...string) uint32 {
	h := uint32(hashOffset)
	for _, p := range parts {
		for i := range len(p) {
			h = hashByte(h, p[i])
		}
		h = hashByte(h, 0)
	}
	return bucketOf(h)
}

// bucketOf folds the high bits in, as the low ones of FNV alone are uneven.
func bucketOf(h uint32) uint32 { return (h ^ h>>tableBits) & (tableSize - 1) }
