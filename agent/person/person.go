// Package person tells whether a message to an assistant asks for a person instead.
package person

import (
	_ "embed"
	"iter"
	"strings"
	"sync"

	"molar/agent/subject"
	"molar/internal/text"
)

//go:embed words.txt
var wordFile string

// words are the parts of a request for a person.
type words struct {
	opener, need, supposed, denied *text.Phrases
	frame                          *text.Phrases
	reach, complete                *text.Phrases
	live, expert, vague            *text.Phrases
	afterVague, presence, mine     *text.Phrases
	call, me, meet, one, tell      *text.Phrases
	bot, noBot, talk, useless      *text.Phrases
}

// readWords reads the words once per process.
var readWords = sync.OnceValue(func() *words {
	of := make(map[string]*text.Phrases)
	for _, s := range subject.Sections(wordFile) {
		of[s.Name] = text.NewPhrases(s.List())
	}
	return &words{
		opener: of["opener"], need: of["need"], supposed: of["supposed"], denied: of["denied"],
		frame: of["frame"],
		reach: of["reach"], complete: of["complete"],
		live: of["live"], expert: of["expert"], vague: of["vague"],
		afterVague: of["after vague"], presence: of["presence"], mine: of["mine"],
		call: of["call"], me: of["me"], meet: of["meet"], one: of["one"], tell: of["tell"],
		bot: of["bot"], noBot: of["no bot"], talk: of["talk"], useless: of["useless"],
	}
})

// A Request is what a message says of reaching a person.
type Request int

// The requests for a person.
const (
	// Not: the message does not ask for one.
	Not Request = iota
	// Beside: it asks for one, and says or asks something else too.
	Beside
	// Only: it asks for nothing else.
	Only
)

// maxBytes is how much of a message is read: more than anybody writes who asks for a person.
const maxBytes = 4000

// In tells whether a message to an assistant asks for a person instead, in Vietnamese, with or without
// marks, or English. Questions about people, such as when one should see a doctor, do not.
func In(message string) Request {
	w := readWords()
	asked, other := false, false
	for clause := range clauses(text.Words(text.Clip(message, maxBytes, ""))) {
		switch {
		case w.asks(clause):
			asked = true
		case !w.isSmall(clause):
			other = true
		}
	}
	switch {
	case !asked:
		return Not
	case other:
		return Beside
	}
	return Only
}

// clauses yields the words between pauses.
func clauses(all []text.Word) iter.Seq[[]text.Word] {
	return func(yield func([]text.Word) bool) {
		start := 0
		for i := 1; i <= len(all); i++ {
			if i < len(all) && all[i].Pause == text.NoPause {
				continue
			}
			if !yield(all[start:i]) {
				return
			}
			start = i
		}
	}
}

// isSmall reports whether a clause of a message adds no question to a request beside it: it names
// nothing, talks of the assistant, or only dresses the request up.
func (w *words) isSmall(clause []text.Word) bool {
	var said strings.Builder
	for _, word := range clause {
		said.WriteString(word.Raw + " ")
	}
	return !subject.NamesSomething(said.String()) || subject.NeedsOf(said.String(), false) == subject.AboutTalk || w.bot.In(clause) || text.Cover(clause, w.frame, w.frame, w.live, w.vague, w.opener)
}

// asks reports whether a clause asks for a person.
func (w *words) asks(clause []text.Word) bool {
	for i := range clause {
		if w.reaches(clause, i) || w.wants(clause, i) || w.calls(clause, i) || w.tiresOfBot(clause, i) || w.blamesBot(clause, i) {
			return true
		}
	}
	return len(clause) <= bareWords && text.Cover(clause, w.live, w.live, w.presence, w.frame, w.vague)
}

const (
	// bareWords is the longest clause that asks by naming a person alone: "an agent please", "is there
	// an agent".
	bareWords = 10
	// tailWords is how many words may follow a request that nothing opens but its own verb.
	tailWords = 3
	// personGap is how many words may stand between a way to reach somebody and who that is: "connect me
	// with your nice receptionist".
	personGap = 4
)

// How a part of a clause begins.
const (
	unopened = iota
	bare     // it is the clause's beginning, but for courtesies
	opened
)

// opening tells how the words before clause[i] open a request.
func (w *words) opening(clause []text.Word, i int) int {
	for k := range i {
		n := w.opener.At(clause, k)
		weak := w.need.At(clause, k)
		if weak > n {
			n = weak
		}
		if n == 0 || k+n > i || !w.isFrame(clause[k+n:i]) {
			continue
		}
		if k > 0 && w.denied.At(clause, k-1) > 1 || w.supposed.In(clause[:k]) && (weak > 0 || w.endsSupposed(clause[:k])) {
			continue
		}
		return opened
	}
	if w.isFrame(clause[:i]) {
		return bare
	}
	return unopened
}

// endsSupposed reports whether words end in a supposition, which then governs what follows.
func (w *words) endsSupposed(all []text.Word) bool {
	for i := range all {
		if n := w.supposed.At(all, i); n > 0 && w.isFrame(all[i+n:]) {
			return true
		}
	}
	return false
}

// isFrame reports whether words are courtesies and pronouns only.
func (w *words) isFrame(all []text.Word) bool {
	return len(all) == 0 || text.Cover(all, w.frame, w.frame)
}

// reaches reports whether a way to reach a person begins at clause[i]: "talk to a human".
func (w *words) reaches(clause []text.Word, i int) bool {
	n := w.reach.At(clause, i)
	if n == 0 {
		return w.isComplete(clause, i)
	}
	how := w.opening(clause, i)
	if how == unopened {
		return false
	}
	for j := i + n; j < len(clause) && j <= i+n+personGap && w.mine.At(clause, j) == 0; j++ {
		rest := clause[j:]
		switch live, expert, vague := w.live.At(clause, j), w.expert.At(clause, j), w.vague.At(clause, j); {
		case live > 0 && (how == opened || len(rest) <= live+tailWords):
			return true
		case expert > 0 && (how == opened || len(rest) == expert):
			return true
		case vague > 0 && live == 0 && expert == 0 && w.isVague(rest, vague):
			return true
		}
	}
	return how == opened && w.meets(clause, i) || w.isComplete(clause, i)
}

// meets reports whether clause[i:] asks to talk to somebody of another trade, and says no more: "talk to
// the plumber".
func (w *words) meets(clause []text.Word, i int) bool {
	n := w.meet.At(clause, i)
	if n == 0 || i+n >= len(clause) || w.mine.At(clause, i+n) > 0 {
		return false
	}
	named, rest := 1, clause[i+n:]
	for named < len(rest) && !w.isFrame(rest[named:]) {
		named++
	}
	return named <= tailWords
}

// isComplete reports whether clause[i:] asks to talk, and does not say with whom: "can I talk to".
func (w *words) isComplete(clause []text.Word, i int) bool {
	n := w.complete.At(clause, i)
	return n > 1 && i+n >= len(clause)-1 && w.opening(clause, i) == opened
}

// isVague reports whether words that begin with so many words for anybody mean somebody who answers.
func (w *words) isVague(all []text.Word, vague int) bool {
	return w.isFrame(all[vague:]) || w.afterVague.At(all, vague) > 0
}

// wants reports whether the clause wants the person who is named at clause[i]: "give me a human".
func (w *words) wants(clause []text.Word, i int) bool {
	live, vague := w.live.At(clause, i), w.vague.At(clause, i)
	if live == 0 && (vague == 0 || !w.isVague(clause[i:], vague)) {
		return false
	}
	return i > 0 && w.opening(clause, i) == opened && !w.isFor(clause[i-1])
}

// isFor reports whether a word is the "cho" of "for somebody", not of "give me somebody".
func (w *words) isFor(word text.Word) bool { return word.Folded == "cho" }

// blamesBot reports whether the clause says at clause[i] that a machine is of no use.
func (w *words) blamesBot(clause []text.Word, i int) bool {
	n := w.bot.At(clause, i)
	return n > 0 && len(clause) <= bareWords && w.useless.In(clause[i+n:])
}

// calls reports whether the person who is named at clause[i] is to get in touch: "can a nurse call me".
func (w *words) calls(clause []text.Word, i int) bool {
	n := max(w.live.At(clause, i), w.expert.At(clause, i), w.vague.At(clause, i))
	if one := w.one.At(clause, i); n == 0 && one > 0 {
		n = one + 1 // somebody of another trade
	}
	if n == 0 {
		return false
	}
	for j := i + n; j < len(clause) && j <= i+n+personGap; j++ {
		call := w.call.At(clause, j)
		if call == 0 {
			continue
		}
		for k := j + call; k < len(clause) && k <= j+call+1; k++ {
			if w.me.At(clause, k) > 0 {
				return w.opening(clause, i) != unopened || i > 0 && w.tell.At(clause, i-1) > 0
			}
		}
	}
	return false
}

// tiresOfBot reports whether the clause, at clause[i], will not talk to a machine.
func (w *words) tiresOfBot(clause []text.Word, i int) bool {
	n := w.noBot.At(clause, i)
	if n == 0 {
		return false
	}
	talk := false
	for j := i + n; j < len(clause) && j <= i+n+2*personGap; j++ {
		talk = talk || w.talk.At(clause, j) > 0
		if talk && w.bot.At(clause, j) > 0 {
			return true
		}
	}
	return false
}
