package guardrail

import (
	"fmt"
	"unicode"
)

// A tier says what a phrase speaks for.
type tier int

const (
	tierNone tier = iota
	tierAdmit
	tierRelated
	tierWeak
	tierAdjacent
	tierForeign
	tierTask
	tiers
)

// weight is what one phrase of a tier adds to the score. Two weak words, or one
// related phrase, outweigh the doubt that every message starts with.
func (t tier) weight() float64 {
	switch t {
	case tierAdmit:
		return 3
	case tierRelated:
		return 1.5
	case tierWeak:
		return 0.6
	case tierAdjacent:
		return -1.2
	case tierForeign:
		return -2.6
	case tierTask:
		return -4
	}
	return 0
}

const (
	doubt       = -0.7 // the score of a message without any known phrase
	markerScore = -6   // an order to the machinery outweighs what else is said
	surePass    = 2.2
	sureLength  = 300 // characters; longer messages hold more than one request
	followWords = 12
	helloWords  = 14
)

// A reading is what code saw in a message.
type reading struct {
	text   string
	words  []word
	hits   [tiers]int
	marker string
	cut    bool
	long   bool
}

// read normalises a message and collects what speaks for and against it.
func (g *Guard) read(text string) reading {
	clean, hidden, cut := normalise(text)
	r := reading{text: clean, words: splitWords(clean), cut: cut, long: len([]rune(clean)) > sureLength}
	r.marker = g.markers.find(clean, r.words)
	if r.marker == "" && hidden {
		r.marker = "hidden or look-alike characters"
	}
	for i := 0; i < len(r.words); {
		p := g.phrases.longest(r.words[i:])
		if p == nil {
			i++
			continue
		}
		r.hits[p.tier]++
		i += len(p.words)
	}
	return r
}

// score sums the phrases; two of a tier say all that it can say.
func (r reading) score() float64 {
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

// quick decides a message alone as far as code can.
func (g *Guard) quick(r reading) Verdict {
	score := r.score()
	v := Verdict{By: "code", Score: score, Pass: score > 0}
	switch {
	case r.marker != "":
		v.Pass, v.Reason = false, "sign of injection ("+r.marker+")"
	case len(r.words) == 0:
		v.Reason = "no words to judge"
		v.Pass, v.Sure = true, !hasLetters(r.text)
		v.SmallTalk = v.Sure
	case g.isGreeting(r.words):
		v.Pass, v.Sure, v.SmallTalk, v.Reason = true, true, true, "greeting, thanks or help"
	case r.cut || r.long:
		v.Reason = "too long for code to be sure"
	case score >= surePass && r.against() == 0:
		v.Sure, v.Reason = true, fmt.Sprintf("phrases of the topic (%d)", r.inFavour())
	case r.against() > 0 && r.inFavour() == 0:
		v.Sure, v.Reason = true, "phrases of another subject"
	default:
		v.Reason = fmt.Sprintf("unclear: for %d, against %d", r.inFavour(), r.against()+r.hits[tierAdjacent])
	}
	return v
}

// isGreeting reports whether the whole message is greetings and fillers.
func (g *Guard) isGreeting(words []word) bool {
	if len(words) > helloWords {
		return false
	}
	greeted := false
	for i := 0; i < len(words); {
		if p := g.hello.longest(words[i:]); p != nil {
			greeted = true
			i += len(p.words)
			continue
		}
		p := g.fill.longest(words[i:])
		if p == nil {
			return false
		}
		i += len(p.words)
	}
	return greeted
}

// follows reports whether a message leans on the exchange before it: short, with
// nothing of another subject in it, and either a few words only or with a word that
// points back.
func (g *Guard) follows(r reading) bool {
	if r.marker != "" || r.against() > 0 || len(r.words) > followWords || r.cut {
		return false
	}
	if len(r.words) <= 2 {
		return true
	}
	for i := range r.words {
		if g.cues.longest(r.words[i:]) != nil {
			return true
		}
	}
	return false
}

func hasLetters(text string) bool {
	for _, r := range text {
		if unicode.IsLetter(r) {
			return true
		}
	}
	return false
}
