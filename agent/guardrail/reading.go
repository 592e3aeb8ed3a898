package guardrail

import (
	"unicode"
	"unicode/utf8"
)

// A reading is what code saw in a message.
type reading struct {
	text   string
	words  []word
	hits   [tiers]int
	marker string
	// content counts the words that neither lean on the message before nor are polite.
	content int
	leans   bool   // a word points back at what was said before
	turns   bool   // a word turns from one request to another
	classes uint32 // the kinds of everyday words, as bits
	alien   bool   // mostly written in letters of other languages
	other   bool   // in a language that the classifier has not learned
	abroad  bool   // and of the topic, as far as code can tell
	cut     bool
	long    bool
}

// read normalises a message and collects what speaks for and against it.
func (g *Guard) read(text string) reading {
	clean, hidden, cut := normalise(text)
	r := reading{text: clean, words: splitWords(clean), cut: cut, long: len([]rune(clean)) > sureLength}
	r.marker = g.markers.find(clean, r.words)
	if g.markers.own.within(r.words) { // talk of instructions: code is not to be sure of it
		r.long = true
	}
	if r.marker == "" && hidden {
		r.marker = "hidden or look-alike characters"
	}
	r.hits = g.hits(r.words)
	r.classes = g.classesOf(r.words)
	r.content = g.content(r.words)
	r.leans, r.turns = g.cues.within(r.words), g.turns.within(r.words)
	r.alien = isAlien(r.words)
	g.readAbroad(&r)
	return r
}

// hits counts the phrases of each tier in words, and marks the words that speak for
// the topic.
func (g *Guard) hits(words []word) (hits [tiers]int) {
	for i := 0; i < len(words); {
		p := g.phrases.longest(words[i:])
		if p == nil {
			if t := g.phrases.nearly(words[i]); t != tierNone {
				hits[t]++
				words[i].ours = t.favours()
			}
			i++
			continue
		}
		hits[p.tier]++
		for k := range p.words {
			words[i+k].ours = p.tier.favours()
		}
		hits[g.foreignWithin(words[i:], len(p.words))]++
		i += len(p.words)
	}
	return hits
}

// foreignWithin looks for a foreign phrase that begins inside one of n words and goes
// beyond it, such as "răng cưa" in "bọc răng cưa". Its marks must be written: "rang cua"
// mostly means "răng cửa".
func (g *Guard) foreignWithin(words []word, n int) tier {
	for k := 1; k < n; k++ {
		if p := g.phrases.longest(words[k:]); p != nil && p.tier >= tierForeign && k+len(p.words) > n && p.isWritten(words[k:]) {
			return p.tier
		}
	}
	return tierNone
}

// content counts the words that say something of their own.
func (g *Guard) content(words []word) int {
	n := 0
	for i := 0; i < len(words); {
		p := g.cues.longest(words[i:])
		if p == nil {
			p = g.fill.longest(words[i:])
		}
		if p == nil {
			p = g.hello.longest(words[i:])
		}
		if p == nil {
			n++
			i++
			continue
		}
		i += len(p.words)
	}
	return n
}

// isAlien reports whether most words are in letters that are not Latin.
func isAlien(words []word) bool {
	alien := 0
	for _, w := range words {
		if r, _ := utf8.DecodeRuneInString(w.folded); unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) {
			alien++
		}
	}
	return alien*2 > len(words)
}

// sum adds the phrases up; two of a tier say all that it can say.
func (r reading) sum() float64 {
	sum := doubt
	for t := tierAdmit; t < tiers; t++ {
		sum += t.weight() * float64(min(r.hits[t], 2))
	}
	if r.marker != "" {
		sum += markerScore
	}
	return sum
}

func (r reading) against() int { return r.hits[tierForeign] + r.hits[tierTask] }

func (r reading) inFavour() int {
	return r.hits[tierAdmit] + r.hits[tierRelated] + r.hits[tierWeak]
}

func hasLetters(text string) bool {
	for _, r := range text {
		if unicode.IsLetter(r) {
			return true
		}
	}
	return false
}
