package subject

import (
	"sync"

	"molar/internal/text"
)

// personWords are the parts of a request for a person.
type personWords struct {
	opener, need, supposed, frame *text.Phrases
	reach, complete               *text.Phrases
	live, clinician, vague        *text.Phrases
	afterVague, presence, mine    *text.Phrases
	call, me                      *text.Phrases
	bot, noBot, talk              *text.Phrases
}

// readPersonWords reads the words once per process.
var readPersonWords = sync.OnceValue(func() *personWords {
	of := make(map[string]*text.Phrases)
	for _, s := range sections("person.txt") {
		of[s.Name] = text.NewPhrases(s.List())
	}
	return &personWords{
		opener: of["opener"], need: of["need"], supposed: of["supposed"], frame: of["frame"],
		reach: of["reach"], complete: of["complete"],
		live: of["live"], clinician: of["clinician"], vague: of["vague"],
		afterVague: of["after vague"], presence: of["presence"], mine: of["mine"],
		call: of["call"], me: of["me"],
		bot: of["bot"], noBot: of["no bot"], talk: of["talk"],
	}
})

// A PersonRequest is what a message says of reaching a person.
type PersonRequest int

// The requests for a person.
const (
	// NoPerson: the message does not ask for one.
	NoPerson PersonRequest = iota
	// PersonBeside: it asks for one, and says or asks something else too.
	PersonBeside
	// PersonOnly: it asks for nothing else.
	PersonOnly
)

// AsksForPerson tells whether a message to an assistant asks for a person instead, in Vietnamese, with
// or without marks, or English. Questions about people, such as when one should see a dentist, do not.
func AsksForPerson(message string) PersonRequest {
	clean, _, _ := normalise(message)
	w := readPersonWords()
	asked, other := false, false
	for clause := range clauses(wordsOf(clean)) {
		switch {
		case w.asks(clause):
			asked = true
		case !w.isSmall(clean, clause):
			other = true
		}
	}
	switch {
	case !asked:
		return NoPerson
	case other:
		return PersonBeside
	}
	return PersonOnly
}

// clauses yields the words between pauses.
func clauses(words []text.Word) func(yield func([]text.Word) bool) {
	return func(yield func([]text.Word) bool) {
		start := 0
		for i := 1; i <= len(words); i++ {
			if i < len(words) && words[i].Pause == text.NoPause {
				continue
			}
			if !yield(words[start:i]) {
				return
			}
			start = i
		}
	}
}

// isSmall reports whether a clause of a message adds no question to a request beside it: it names
// nothing, talks of the assistant, or only dresses the request up.
func (w *personWords) isSmall(message string, clause []text.Word) bool {
	_, named := reading{text: message, words: clause}.heavy()
	return len(named) == 0 || greets(clause) || w.bot.In(clause) || text.Cover(clause, w.frame, w.frame, w.live, w.vague, w.opener)
}

// asks reports whether a clause asks for a person.
func (w *personWords) asks(clause []text.Word) bool {
	for i := range clause {
		if w.reaches(clause, i) || w.wants(clause, i) || w.calls(clause, i) || w.tiresOfBot(clause, i) {
			return true
		}
	}
	return len(clause) <= bareWords && text.Cover(clause, w.live, w.live, w.presence, w.frame)
}

const (
	// bareWords is the longest clause that asks by naming a person alone: "an agent please", "is there
	// an agent".
	bareWords = 8
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
func (w *personWords) opening(clause []text.Word, i int) int {
	for k := range i {
		n := w.opener.At(clause, k)
		weak := w.need.At(clause, k)
		if weak > n {
			n = weak
		}
		if n == 0 || k+n > i || !w.isFrame(clause[k+n:i]) {
			continue
		}
		if w.supposed.In(clause[:k]) && (weak > 0 || w.endsSupposed(clause[:k])) {
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
func (w *personWords) endsSupposed(words []text.Word) bool {
	for i := range words {
		if n := w.supposed.At(words, i); n > 0 && w.isFrame(words[i+n:]) {
			return true
		}
	}
	return false
}

// isFrame reports whether words are courtesies and pronouns only.
func (w *personWords) isFrame(words []text.Word) bool {
	return len(words) == 0 || text.Cover(words, w.frame, w.frame)
}

// reaches reports whether a way to reach a person begins at clause[i]: "talk to a human".
func (w *personWords) reaches(clause []text.Word, i int) bool {
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
		switch live, clinician, vague := w.live.At(clause, j), w.clinician.At(clause, j), w.vague.At(clause, j); {
		case live > 0 && (how == opened || len(rest) <= live+tailWords):
			return true
		case clinician > 0 && (how == opened || len(rest) == clinician):
			return true
		case vague > 0 && live == 0 && clinician == 0 && w.isVague(rest, vague):
			return true
		}
	}
	return w.isComplete(clause, i)
}

// isComplete reports whether clause[i:] asks to talk, and does not say with whom: "can I talk to".
func (w *personWords) isComplete(clause []text.Word, i int) bool {
	n := w.complete.At(clause, i)
	return n > 1 && i+n >= len(clause)-1 && w.opening(clause, i) == opened
}

// isVague reports whether words that begin with so many words for anybody mean somebody who answers.
func (w *personWords) isVague(words []text.Word, vague int) bool {
	return len(words) == vague || w.afterVague.At(words, vague) > 0
}

// wants reports whether the clause wants the person who is named at clause[i]: "give me a human".
func (w *personWords) wants(clause []text.Word, i int) bool {
	live, vague := w.live.At(clause, i), w.vague.At(clause, i)
	if live == 0 && (vague == 0 || !w.isVague(clause[i:], vague)) {
		return false
	}
	return i > 0 && w.opening(clause, i) == opened
}

// calls reports whether the person who is named at clause[i] is to get in touch: "can a nurse call me".
func (w *personWords) calls(clause []text.Word, i int) bool {
	n := max(w.live.At(clause, i), w.clinician.At(clause, i), w.vague.At(clause, i))
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
				return w.opening(clause, i) != unopened
			}
		}
	}
	return false
}

// tiresOfBot reports whether the clause, at clause[i], will not talk to a machine.
func (w *personWords) tiresOfBot(clause []text.Word, i int) bool {
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
