package subject

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/internal/text"
)

// sureLength is the length in characters from which a message may contain several requests: code is
// never sure of it.
const sureLength = 300

// A reading is code's analysis of a message.
type reading struct {
	text   string
	words  []text.Word
	marker marker
	names  []bool // by word: it is part of a phrase that names the topic
	named  bool
	needs  Needs
	talk   bool // only words about the conversation and the form of an answer
	other  bool // in a language that the classifier was not trained for
	abroad bool // such a message seems to name the topic
	// foreign is set for a message that the classifier may guess, but never be sure of: it is not
	// recognisably in a language that it was trained in.
	foreign bool
	long    bool
}

// read normalises a message and analyses it, except for its score.
func (g *Guard) read(message string) reading {
	clean, hidden, cut := normalise(message)
	r := reading{text: clean, words: wordsOf(clean)}
	r.long = cut || utf8.RuneCountInString(clean) > sureLength
	r.marker = g.marker(clean, r.words, hidden)
	r.marker.hard = r.marker.hard || r.long && r.marker.name != ""
	r.names = make([]bool, len(r.words))
	for i := 0; i < len(r.words); {
		n := g.names.At(r.words, i)
		for k := range n {
			r.names[i+k], r.named = true, true
		}
		i += max(n, 1)
	}
	var certain bool
	r.needs, certain = needs(clean, r.words, r.names)
	r.talk = certain && r.needs == AboutTalk
	g.abroad.read(&r)
	g.readLanguage(&r)
	return r
}

// readLanguage sets in r whether the classifier knows the language of the message, if it was not
// trained in exactly Vietnamese and English.
func (g *Guard) readLanguage(r *reading) {
	if g.model == nil || g.model.knowsBoth() {
		return
	}
	learned := func(lang string) bool { return slices.Contains(g.model.Languages, lang) }
	languages := languagesOf(r.text)
	switch {
	case len(languages) == 0: // it reveals too little
	case slices.ContainsFunc(languages, learned):
		r.other = false
	case languages[0] == Other && slices.ContainsFunc(g.model.Languages, func(lang string) bool { return lang != Vietnamese && lang != English }):
		r.other, r.foreign = false, true // perhaps one of those
	default: // the words that name the topic decide
		r.other, r.abroad = true, r.abroad || r.named
	}
}

// knowsBoth reports whether the classifier was trained in Vietnamese and English, and in no other
// language.
func (c *Classifier) knowsBoth() bool {
	return len(c.Languages) == 2 && slices.Contains(c.Languages, Vietnamese) && slices.Contains(c.Languages, English)
}

// wordsOf returns the words of a text, without informal endings and stretched letters.
func wordsOf(s string) []text.Word {
	words := text.Words(s)
	kept := words[:0]
	for _, w := range words {
		if raw := text.CollapseRepeats(strings.TrimSuffix(w.Raw, "'s")); raw != w.Raw {
			pause := w.Pause
			w = text.NewWord(raw)
			w.Pause = pause
		}
		if w.Folded != "" {
			kept = append(kept, w)
		}
	}
	return kept
}

func hasLetters(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }
