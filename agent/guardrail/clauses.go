package guardrail

import (
	"iter"
	"strconv"
	"strings"
)

// How much the words of clauses count, and each sign of a clause apart.
const (
	clauseShare = 1
	apartValue  = 0.7
)

// joints are words that begin a clause without a pause before them.
const joints = " and but then so while because also plus va roi con nhung nen vi thi xong tien nhan "

// appendClauses adds, for a message that names the topic somewhere, its words once
// more by where they stand: in a clause that names it, or apart, where another request
// may hide behind a question of the topic.
func appendClauses(fs []feature, r reading, known func(uint32) bool) []feature {
	if r.inFavour() == 0 {
		return fs
	}
	from, words, strangers := len(fs), 0, 0
	for clause := range clauses(r.words) {
		name := "apart"
		if hasOurs(clause) {
			name = "beside"
		}
		for i, w := range clause {
			if w.ours {
				continue
			}
			fs = append(fs, feature{bucket: hashOf(name, "", w.folded)})
			if i+1 < len(clause) {
				fs = append(fs, feature{bucket: hashOf(name, w.folded, clause[i+1].folded)})
			}
			if name == "apart" {
				words++
				if !known(hashTerm(w.folded, "")) {
					strangers++
				}
			}
		}
	}
	fs = even(fs, from, clauseShare)
	for _, sign := range [...]string{
		"words " + strconv.Itoa(min(words, 15)/3), "strangers " + strconv.Itoa(min(strangers, 4)),
		"share " + strconv.Itoa(strangers*4/max(words, 1)),
	} {
		fs = append(fs, feature{bucket: hashOf("apart", "sign", sign), value: apartValue})
	}
	return fs
}

func hasOurs(words []word) bool {
	for _, w := range words {
		if w.ours {
			return true
		}
	}
	return false
}

// clauses cuts words before each that opens a clause.
func clauses(words []word) iter.Seq[[]word] {
	return func(yield func([]word) bool) {
		from := 0
		for i := 1; i < len(words); i++ {
			if !words[i].opens && !strings.Contains(joints, " "+words[i].folded+" ") {
				continue
			}
			if !yield(words[from:i]) {
				return
			}
			from = i
		}
		if from < len(words) {
			yield(words[from:])
		}
	}
}

// mostlyOurs reports a story that names the topic so often that a few words of another
// subject are part of it.
func (r reading) mostlyOurs() bool {
	return len(r.words) >= storyWords && r.hits[tierTask] == 0 && r.hits[tierForeign]*3 <= r.inFavour()
}

// A story is judged by its windows too: pieces of at least windowWords words, which end
// where a clause does.
const (
	windowWords = 10
	storyFavour = 1  // what the story of a person is given, who mostly writes to be helped
	leastAsk    = -4 // the score of a request that has nothing to do with the topic
)

// isStory reports a message that names the topic among much else. Its score is a guess,
// of which code is never sure.
func (r reading) isStory() bool {
	return len(r.words) >= storyWords && r.hits[tierTask] == 0 && r.inFavour() > 0
}

// story is the score of a message that tells one: that of the whole, in which the noise
// of a day weighs more than the one sentence about a tooth, with what each window has for
// the topic, and with the request, which is the last window that asks.
func (g *Guard) story(r reading, whole float64) float64 {
	request, support := float64(leastAsk), 0.0
	for window := range windows(r.words) {
		part := g.part(window)
		alone, after := part.features(g.weights.holds)
		support += max(0, g.weights.score(alone))
		if g.asks.within(window) {
			request = max(leastAsk, g.weights.score(after))
		}
	}
	return whole + request + support + storyFavour
}

// windows joins clauses until each window is long enough.
func windows(words []word) iter.Seq[[]word] {
	return func(yield func([]word) bool) {
		from, to := 0, 0
		for clause := range clauses(words) {
			to += len(clause)
			if to-from < windowWords {
				continue
			}
			if !yield(words[from:to]) {
				return
			}
			from = to
		}
		if from < to {
			yield(words[from:to])
		}
	}
}

// part reads some of a message's words as a message.
func (g *Guard) part(words []word) reading {
	return reading{words: words, hits: g.hits(words), classes: g.classesOf(words), content: g.content(words), leans: g.cues.within(words)}
}

// smuggled is the score, behind an exchange on the topic, from which on a clause asks
// for something else.
const smuggled = -2

// smuggles reports a message that names the topic, and beside it asks for something
// else in a clause of its own: "what is a crown, and who won the match?" Each clause is
// read as if it followed the others, so that "and how much is it?" is no request of
// its own.
func (g *Guard) smuggles(r reading) bool {
	if r.inFavour() == 0 || r.mostlyOurs() {
		return false
	}
	for clause := range clauses(r.words) {
		if len(clause) < 3 || hasOurs(clause) || !g.asks.within(clause) {
			continue
		}
		part := g.part(clause)
		if _, after := part.features(g.weights.holds); g.weights.score(after) <= smuggled {
			return true
		}
	}
	return false
}
