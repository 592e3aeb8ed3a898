package subject

import (
	"embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"molar/internal/text"
)

// Needs is what a message needs of the conversation to be understood.
type Needs string

const (
	// StandsAlone is a self-contained message.
	StandsAlone Needs = "nothing"
	// FollowUp is a message that refers to the subject of the conversation.
	FollowUp Needs = "subject"
	// Shift is a follow-up that adds a new thing ("what about ...?"): later messages may refer to
	// both.
	Shift Needs = "subject, shifted"
	// AboutTalk is a message about the conversation, its language or the form of an
	// answer, or a greeting: there is nothing to search for.
	AboutTalk Needs = "conversation"
)

// maxSubject bounds a subject in characters: a search accepts only some hundred.
const maxSubject = 240

// FollowsUp reports whether the message refers to the subject of the conversation.
func (n Needs) FollowsUp() bool { return n == FollowUp || n == Shift }

// About returns what a search needs in addition to the message: the subject of the conversation for
// a follow-up, else "".
func (n Needs) About(subject string) string {
	if !n.FollowsUp() {
		return ""
	}
	return subject
}

// Subject returns the subject of the conversation after a question: the question if it stands
// alone, else the previous subject, with a shift appended.
func (n Needs) Subject(question, previous string) string {
	question = strings.TrimSpace(question)
	if n == Shift && utf8.RuneCountInString(previous+" "+question) <= maxSubject {
		question = strings.TrimSpace(previous + " " + question)
	}
	if n == AboutTalk || n == FollowUp && previous != "" {
		return previous
	}
	runes := []rune(question)
	return string(runes[:min(len(runes), maxSubject)])
}

// longQuestion is the length in words from which a question is taken to be self-contained.
const longQuestion = 14

// A fragment is an opening ("what about") with a thing and at most this many other words.
const fragmentWords = 2

//go:embed words
var wordFiles embed.FS

// signs are the general signs of Vietnamese and English: phrases, for a message made only of them,
// else a classifier trained on conversations about many subjects.
type signs struct {
	vi, en speech
	model  talkModel
	// hello are greetings, thanks and questions about the assistant, fill the words that may
	// accompany them.
	hello, fill *text.Phrases
}

// readSigns reads the signs once per process: a program may open many hosts in turn.
var readSigns = sync.OnceValue(func() *signs {
	greetings := sections("greetings.txt")
	return &signs{
		vi: newSpeech(Vietnamese), en: newSpeech(English), model: readTalk(talkWeights),
		hello: text.NewPhrases(greetings[0].List()), fill: text.NewPhrases(greetings[1].List()),
	}
})

// speech holds the signs of one language.
type speech struct {
	opening, closing *text.Phrases // around a fragment: "what about ...", "còn ... thì sao"
	form, glue       *text.Phrases // the words of talk about answers
	common           *text.Phrases // words that name nothing by themselves
	light            *text.Phrases // words that carry no subject: grammatical ones, and those that can be asked of anything
}

// NeedsOf returns the needs of a message without a topic. With begins, the first message of a
// conversation, it stands alone unless it is a greeting or certain not to: people begin with a word
// or two of what they look for.
func NeedsOf(message string, begins bool) Needs {
	clean, _, _ := normalise(message)
	words := wordsOf(clean)
	names := make([]bool, len(words))
	if !begins {
		needs, _ := needs(clean, words, names)
		return needs
	}
	switch needs, _, certain := readSigns().phrases(clean, words, names); {
	case certain:
		return needs
	case greets(words):
		return AboutTalk
	}
	return StandsAlone
}

// needs returns the needs of a message. names marks the words that name a thing of the topic;
// without a topic all words that are not common do. certain is set if phrases decide; else it is a
// guess.
func needs(message string, words []text.Word, names []bool) (needs Needs, certain bool) {
	all := readSigns()
	needs, words, certain = all.phrases(message, words, names)
	if !certain {
		needs = all.model.needs(words, slices.Contains(names, true))
	}
	return needs, certain
}

// phrases returns the needs of a message if phrases decide, and its words as its language writes them.
func (all *signs) phrases(message string, words []text.Word, names []bool) (needs Needs, written []text.Word, certain bool) {
	s, words := all.of(message, words)
	if len(words) == 0 || text.Cover(words, s.form, s.form, s.glue) {
		return AboutTalk, words, true
	}
	things := s.things(words, names)
	switch {
	case len(words) > 2*longQuestion:
		return StandsAlone, words, true
	case s.isFragment(words, things) && slices.Contains(things, true):
		return Shift, words, true
	case s.isFragment(words, things):
		return FollowUp, words, true
	}
	return "", words, false
}

// of returns the signs of a message's language, and its words as that language writes them.
func (all *signs) of(message string, words []text.Word) (speech, []text.Word) {
	if lang, _ := Detect(message, ""); lang == Vietnamese {
		return all.vi, asWritten(words)
	}
	return all.en, words
}

// greetingWords is the length of the longest message that may be a greeting.
const greetingWords = 14

// greets reports whether a message has only greetings and the words that may accompany them.
func greets(words []text.Word) bool {
	s := readSigns()
	return len(words) <= greetingWords && text.Cover(words, s.hello, s.hello, s.fill)
}

// asWritten returns the words of a message that has marks as complete: there "do" is not a hurried
// "đó".
func asWritten(words []text.Word) []text.Word {
	if !slices.ContainsFunc(words, func(w text.Word) bool { return !w.Bare }) {
		return words
	}
	words = slices.Clone(words)
	for i := range words {
		words[i].Bare = false
	}
	return words
}

func newSpeech(lang string) speech {
	lists := make(map[string]*text.Phrases)
	var light *text.Phrases
	for _, s := range sections("conversation." + lang + ".txt") {
		if s.Name == "light" { // "vay", to lend, is not taken for "vậy", so
			light = text.NewStrictPhrases(s.List())
			continue
		}
		lists[s.Name] = text.NewPhrases(s.List())
	}
	return speech{
		opening: lists["opening"], closing: lists["closing"], form: lists["form"], glue: lists["glue"], common: lists["common"],
		light: light,
	}
}

// isFragment reports whether words are an opening with hardly more than a thing: "what about
// roses?"
func (s speech) isFragment(words []text.Word, things []bool) bool {
	opening := s.opening.At(words, 0)
	if opening == 0 {
		return false
	}
	others := 0
	for i := opening; i < len(words); {
		n := s.closing.At(words, i)
		if n == 0 && !things[i] {
			others++
		}
		i += max(n, 1)
	}
	return others <= fragmentWords
}

// things marks the words that name something: those of the topic, and all that are neither common
// nor a number.
func (s speech) things(words []text.Word, names []bool) []bool {
	things := make([]bool, len(words))
	for i := 0; i < len(words); {
		n := s.common.At(words, i)
		if n == 0 {
			things[i] = !strings.ContainsAny(words[i].Raw[:1], "0123456789")
		}
		n = max(n, 1)
		for k := i; k < i+n; k++ {
			things[k] = things[k] || n == 1 && names[k]
		}
		i += n
	}
	return things
}
