package guardrail

import "strconv"

// A vocabulary is the set of words and pairs of words that in-domain examples used. A
// message with many others speaks of something else, whatever phrases of the topic it
// also holds. It is a bit for each hash: a stranger is taken for known in few cases.
type vocabulary string

const (
	vocabularyBits  = 18
	vocabularyBytes = 1 << vocabularyBits / 8
)

func (v vocabulary) holds(h uint32) bool { return v[h>>3]&(1<<(h&7)) != 0 }

// eachTerm calls f with the hash of every word and every pair.
func eachTerm(words []word, f func(h uint32, pair bool)) {
	for i, w := range words {
		f(hashTerm(w.folded, ""), false)
		if i+1 < len(words) {
			f(hashTerm(w.folded, words[i+1].folded), true)
		}
	}
}

func hashTerm(a, b string) uint32 {
	h := uint32(hashOffset)
	for _, s := range [...]string{a, b} {
		for i := range len(s) {
			h = hashByte(h, s[i])
		}
		h = hashByte(h, 0)
	}
	return (h ^ h>>vocabularyBits) & (1<<vocabularyBits - 1)
}

// A census counts in how many in-domain examples each term stands.
type census map[uint32]int

func newCensus(examples []Example) census {
	c := make(census)
	for _, e := range examples {
		if e.InDomain {
			c.add(splitWords(e.Text), 1)
		}
	}
	return c
}

// add counts each term of a text once.
func (c census) add(words []word, n int) {
	seen := make(map[uint32]bool)
	eachTerm(words, func(h uint32, _ bool) {
		if !seen[h] {
			seen[h] = true
			c[h] += n
		}
	})
}

func (c census) vocabulary() vocabulary {
	bits := make([]byte, vocabularyBytes)
	for h, n := range c {
		if n > 0 {
			bits[h>>3] |= 1 << (h & 7)
		}
	}
	return vocabulary(bits)
}

// appendStrangers adds how many words and pairs the topic's examples never used.
func appendStrangers(fs []feature, name string, r reading, known func(uint32) bool) []feature {
	var words, pairs int
	eachTerm(r.words, func(h uint32, pair bool) {
		switch {
		case known(h):
		case pair:
			pairs++
		default:
			words++
		}
	})
	favour := "no phrase "
	switch {
	case r.hits[tierAdmit] > 0:
		favour = "phrase "
	case r.inFavour() > 0:
		favour = "hint "
	}
	n := max(len(r.words), 1)
	for _, sign := range [...]string{
		"words " + strconv.Itoa(min(words, 5)), "share " + strconv.Itoa(words*5/n),
		"pairs " + strconv.Itoa(pairs*5/n), favour + strconv.Itoa(min(words, 3)), favour + "share " + strconv.Itoa(words*4/n),
	} {
		fs = append(fs, feature{bucket: hashOf(name, "strange", sign), value: strangeValue})
	}
	return fs
}
