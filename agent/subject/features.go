package subject

import (
	"math"

	"molar/internal/text"
)

// Character runs of these lengths are features. They match despite typing mistakes and endings that
// no word list has.
const (
	shortestRun = 3
	longestRun  = 5
)

// A Feature is the hash of something in a message and its weight there.
type Feature struct {
	Hash  uint32
	Value float32
}

// Bucket returns the feature's bucket in a table of 1<<bits of them.
func (f Feature) Bucket(bits int) uint32 { return bucket(f.Hash, bits) }

// appendRuns adds the character runs of the words. Their squares sum to share, whatever the length
// of the message.
func appendRuns(fs []Feature, words []text.Word, share float64) []Feature {
	line := []byte{' '}
	for _, w := range words {
		line = append(append(line, w.Folded...), ' ')
	}
	from := len(fs)
	for i := range line {
		h := hashByte(hashOffset, 'c')
		for n := 0; n < longestRun && i+n < len(line); n++ {
			h = hashByte(h, line[i+n])
			if n+1 >= shortestRun {
				fs = append(fs, Feature{Hash: h})
			}
		}
	}
	return even(fs, from, share)
}

// appendWords adds single words and pairs under a name, folded and, if they have marks, as written.
// Their squares sum to share.
func appendWords(fs []Feature, name string, words []text.Word, share float64) []Feature {
	from := len(fs)
	for i, w := range words {
		fs = append(fs, Feature{Hash: hash(name, "", w.Folded)})
		if !w.Bare {
			fs = append(fs, Feature{Hash: hash(name, "raw", w.Raw)})
		}
		if i+1 == len(words) {
			break
		}
		fs = append(fs, Feature{Hash: hash(name, w.Folded, words[i+1].Folded)})
		if !w.Bare || !words[i+1].Bare {
			fs = append(fs, Feature{Hash: hash(name, w.Raw, words[i+1].Raw)})
		}
	}
	return even(fs, from, share)
}

// reach is how far apart the words of a near pair may be.
const reach = 4

// appendNear adds, under a name, the pairs of words of a sentence that have one to three others
// between them. Their squares sum to share.
func appendNear(fs []Feature, name string, words []text.Word, share float64) []Feature {
	from := len(fs)
	for i, w := range words {
		for k := i + 2; k < len(words) && k <= i+reach && words[k].Pause < text.SentencePause; k++ {
			fs = append(fs, Feature{Hash: hash(name, w.Folded, words[k].Folded)})
		}
	}
	return even(fs, from, share)
}

// even sets the features from an index on to the same value, so that their squares sum to share.
func even(fs []Feature, from int, share float64) []Feature {
	n := len(fs) - from
	value := float32(math.Sqrt(share / float64(max(n, 1))))
	for i := from; i < len(fs); i++ {
		fs[i].Value = value
	}
	return fs
}

// The hash is FNV-1a, written out so that no feature allocates.
const (
	hashOffset = 2166136261
	hashPrime  = 16777619
)

func hashByte(h uint32, b byte) uint32 { return (h ^ uint32(b)) * hashPrime }

// hash returns the hash of a feature identified by three strings.
func hash(a, b, c string) uint32 {
	h := uint32(hashOffset)
	for _, s := range [...]string{a, b, c} {
		for i := range len(s) {
			h = hashByte(h, s[i])
		}
		h = hashByte(h, 0)
	}
	return h
}
