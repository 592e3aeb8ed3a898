package subject

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"molar/internal/text"
)

// The classifier is trained on Vietnamese and English. For other languages code has only a few
// words: enough to see that a message may be on topic and must go to the judge, never enough to
// decide.

// abroad holds the words of other languages.
type abroad struct {
	topic, against, orders wordsAbroad
	grammar                *text.Phrases // grammatical words
}

// wordsAbroad are words to look for: whole or as prefixes in scripts with spaces, anywhere in
// scripts without.
type wordsAbroad struct {
	words  *text.Phrases
	inside []string
}

func newAbroad(names []string) abroad {
	lists := make(map[string][]string)
	for _, s := range sections("abroad.txt") {
		lists[s.Name] = s.List()
	}
	return abroad{
		topic: splitScripts(names), against: splitScripts(lists["against"]), orders: splitScripts(lists["orders"]),
		grammar: text.NewStrictPhrases(lists["grammar"]),
	}
}

func splitScripts(phrases []string) wordsAbroad {
	var spaced []string
	var m wordsAbroad
	for _, p := range phrases {
		if r, _ := utf8.DecodeRuneInString(p); isAlphabet(r) {
			spaced = append(spaced, p)
		} else {
			m.inside = append(m.inside, p)
		}
	}
	m.words = text.NewPhrases(spaced)
	return m
}

// isAlphabet reports whether r is a letter of a script with spaces between words and endings after
// them.
func isAlphabet(r rune) bool { return unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Greek) }

func (m wordsAbroad) within(message string, words []text.Word) bool {
	return m.words.In(words) || slices.ContainsFunc(m.inside, func(s string) bool { return strings.Contains(message, s) })
}

// read sets in r whether the message is in another language, and whether it names the topic in it.
func (a abroad) read(r *reading) {
	grammar := 0
	for i := range r.words {
		grammar += min(a.grammar.At(r.words, i), 1)
	}
	names := a.topic.within(r.text, r.words)
	r.other = isAlien(r.words) || names || grammar >= 2 && grammar*6 >= len(r.words)
	if !r.other {
		return
	}
	r.abroad = names && !a.against.within(r.text, r.words)
	if r.marker.name == "" && a.orders.within(r.text, r.words) {
		r.marker = marker{"order in another language", true}
	}
}

// isAlien reports whether most words are in letters that are not Latin.
func isAlien(words []text.Word) bool {
	alien := 0
	for _, w := range words {
		if r, _ := utf8.DecodeRuneInString(w.Folded); unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) {
			alien++
		}
	}
	return alien*2 > len(words)
}

// languagesOf returns the codes of the languages that a message seems to be in: several that are
// close, [Other] for one that is not told apart, none if it reveals too little.
func languagesOf(message string) []string {
	var s languageScore
	s.scan(message)
	if s.alien > s.latin {
		return scriptsOf(message)
	}
	lang, _ := guess(message, false)
	switch lang {
	case "":
		return nil
	case Vietnamese, English:
		return []string{lang}
	}
	best, second := -1, 0.0
	for i, score := range s.others {
		switch {
		case best < 0 || score > s.others[best]:
			if best >= 0 {
				second = max(second, s.others[best])
			}
			best = i
		default:
			second = max(second, score)
		}
	}
	if codes := languageCodes()[best]; s.others[best] > second && len(codes) > 0 {
		return codes
	}
	return []string{Other}
}

// languageCodes returns the codes of the languages of each paragraph of the frequent words.
var languageCodes = sync.OnceValue(func() [maxLanguages][]string {
	var codes [maxLanguages][]string
	_, paragraphs, _ := strings.Cut(frequent, "\n\n")
	for i, paragraph := range slices.Collect(strings.SplitSeq(paragraphs, "\n\n")) {
		name, _, _ := strings.Cut(paragraph, ":")
		_, list, _ := strings.Cut(name, "(")
		codes[i] = strings.Fields(strings.TrimSuffix(list, ")"))
	}
	return codes
})

// scriptsOf returns the codes of the languages that are written in the alphabet of a message.
func scriptsOf(message string) []string {
	for _, script := range []struct {
		table *unicode.RangeTable
		codes string
	}{ // Japanese is known by the signs that Chinese lacks
		{unicode.Hangul, "ko"},
		{unicode.Hiragana, "ja"},
		{unicode.Katakana, "ja"},
		{unicode.Han, "zh"},
		{unicode.Thai, "th"},
		{unicode.Lao, "lo"},
		{unicode.Khmer, "km"},
		{unicode.Myanmar, "my"},
		{unicode.Devanagari, "hi mr ne"},
		{unicode.Bengali, "bn"},
		{unicode.Tamil, "ta"},
		{unicode.Arabic, "ar fa ur"},
		{unicode.Hebrew, "he"},
		{unicode.Greek, "el"},
		{unicode.Georgian, "ka"},
		{unicode.Armenian, "hy"},
		{unicode.Cyrillic, "ru uk be bg sr mk kk"},
	} {
		if strings.ContainsFunc(message, func(r rune) bool { return unicode.Is(script.table, r) }) {
			return strings.Fields(script.codes)
		}
	}
	return []string{Other}
}
