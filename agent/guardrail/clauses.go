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
		part := reading{words: clause, hits: g.hits(clause), classes: g.classesOf(clause), content: g.content(clause), leans: g.cues.within(clause)}
		if _, after := part.features(g.weights.holds); g.weights.score(after) <= smuggled {
			return true
		}
	}
	return false
}
