package subject

import (
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
	long   bool
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
	return r
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
