package guardrail

import (
	_ "embed"
	"strconv"
	"strings"
)

// everydayWords are words of everyday life by what they are of, each kind under a line
// that begins with #. None speaks for or against a topic by itself: the training finds
// out what a kind of word says beside the topic's own, so that an animal or a tool that
// no example named is still known as one.
//
//go:embed everyday.txt
var everydayWords string

// classValue is of each sign of a kind of everyday words.
const classValue = 0.8

// classesOf returns the kinds of everyday words among words, as bits.
func (g *Guard) classesOf(words []word) uint32 {
	var bits uint32
	for i := range words {
		if words[i].ours {
			continue
		}
		if p := g.everyday.longest(words[i:]); p != nil {
			bits |= 1 << (p.tier - tiers)
		}
	}
	return bits
}

// newEveryday enters each kind under a number of its own beyond the tiers.
func newEveryday() *lexicon {
	l := newLexicon(false)
	kind := -1
	for line := range strings.Lines(everydayWords) {
		if strings.HasPrefix(line, "#") {
			kind++
			continue
		}
		l.add(tiers+tier(kind), list(line)...)
	}
	return l
}

// appendClasses adds which kinds of everyday words stand beside what speaks for the topic.
func appendClasses(fs []feature, name string, r reading) []feature {
	favour := "0"
	switch {
	case r.hits[tierAdmit] > 0:
		favour = "2"
	case r.inFavour() > 0:
		favour = "1"
	}
	n := 0
	for i := range 32 {
		if r.classes&(1<<i) == 0 {
			continue
		}
		n++
		kind := strconv.Itoa(i)
		fs = append(fs, feature{bucket: hashOf(name, "class", kind), value: classValue},
			feature{bucket: hashOf(name, "class", kind+" "+favour), value: classValue})
	}
	return append(fs, feature{bucket: hashOf(name, "class", "count "+strconv.Itoa(min(n, 3))+" "+favour), value: classValue})
}
