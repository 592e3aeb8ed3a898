// Package language tells Vietnamese from English in code, with and without
// diacritics.
//
// It owns the word lists and the scoring behind that decision and nothing else: it
// asks no model, keeps no state between calls and knows nothing of turns. Whoever
// gets an unsure answer may ask a model.
package language

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"molar/internal/text"
)

// The languages that Detect tells apart.
const (
	Vietnamese = "vi"
	English    = "en"
)

// maxScan bounds how much of a text is looked at, in bytes: enough for any
// question, and little enough that a pasted book costs no time.
const maxScan = 2000

// Detect returns the language of a message, "vi" or "en", and whether it is sure.
// Vietnamese letters decide, unless the sentence around them is English; without
// them, common words and the shape of syllables are scored. A text that says too
// little takes previous, the language of the conversation so far (empty when there
// is none, then "en"), and is unsure.
func Detect(message, previous string) (lang string, sure bool) {
	if previous != Vietnamese && previous != English {
		previous = English
	}
	s := scan(message)
	switch {
	case s.words == 0:
		return previous, false
	case s.marked > 0:
		return s.withMarks()
	}
	return s.withoutMarks(previous)
}

// A score is what the words of a text say about its language.
type score struct {
	words  int
	marked int // words with Vietnamese letters
	// vietnamese and english sum the weights of known and likely words.
	vietnamese, english float64
	// viGrammar and enGrammar count the words that carry a sentence.
	viGrammar, enGrammar int
}

// withMarks decides for a text with Vietnamese letters in it: the language that
// carries the sentence wins, so a Vietnamese term in an English question leaves it
// English.
func (s score) withMarks() (string, bool) {
	other := s.words - s.marked
	if s.enGrammar > s.viGrammar && s.enGrammar*2 >= s.marked && other > 1 {
		return English, s.enGrammar >= s.viGrammar+2
	}
	return Vietnamese, s.marked*4 >= s.words || s.viGrammar > s.enGrammar
}

// withoutMarks decides by the balance of scores. The margin needed grows with the
// length, so that one loan word does not turn a sentence.
func (s score) withoutMarks(previous string) (string, bool) {
	diff := s.vietnamese - s.english
	margin := 0.9 + 0.05*float64(min(s.words, 20))
	switch {
	case diff >= margin:
		return Vietnamese, true
	case -diff >= margin:
		return English, true
	case diff > 0.5 && s.words > 2:
		return Vietnamese, false
	case diff < -0.5 && s.words > 2:
		return English, false
	}
	return previous, false
}

// scan weighs the words of a message one by one.
func scan(message string) score {
	var s score
	message = text.Clip(message, maxScan, "")
	for word := range strings.FieldsFuncSeq(norm.NFC.String(message), notWordRune) {
		s.add(word)
	}
	return s
}

func (s *score) add(word string) {
	word = strings.Trim(word, "'’")
	folded := strings.ReplaceAll(strings.ReplaceAll(text.Fold(word), "'", ""), "’", "")
	if folded == "" || isNumber(folded) {
		return
	}
	s.words++
	if !isPlain(folded) {
		return
	}
	marked := !isPlain(word) && isMarked(word, folded)
	if marked {
		s.marked++
	}
	vi, en := isVietnamese(folded), isEnglish(folded) && !marked
	if isVietnameseGrammar(folded) {
		s.viGrammar++
	}
	if en {
		s.enGrammar++
	}
	s.vietnamese += weight(vi, isSyllable(folded) && len(folded) > 1)
	s.english += weight(en, !isSyllable(folded))
}

// weight of a word for one language: known words count most, a fitting shape less.
func weight(known, fits bool) float64 {
	switch {
	case known:
		return 1
	case fits:
		return 0.4
	}
	return 0
}

// isMarked reports whether the word is written with Vietnamese letters. Some are
// found in no other language; an acute or a circumflex also stands in loans such
// as "café", which are no Vietnamese syllables.
func isMarked(word, folded string) bool {
	weak := false
	for _, r := range word {
		if r < utf8.RuneSelf {
			continue
		}
		switch {
		case isOwnLetter(r):
			return true
		case isSharedLetter(r):
			weak = true
		}
	}
	return weak && isSyllable(folded)
}

// isOwnLetter knows the letters that only Vietnamese writes among the languages
// expected here.
func isOwnLetter(r rune) bool {
	switch unicode.ToLower(r) {
	case 'đ', 'ă', 'ơ', 'ư', 'ĩ', 'ũ':
		return true
	}
	// Vietnamese letters with two marks, a hook above or a dot below share a block.
	return r >= 0x1EA0 && r <= 0x1EF9
}

// isSharedLetter knows the letters that Vietnamese shares with French and others.
func isSharedLetter(r rune) bool {
	return strings.ContainsRune("àáâãèéêìíòóôõùúý", unicode.ToLower(r))
}

func notWordRune(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && r != '\'' && r != '’'
}

func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

func isNumber(s string) bool { return strings.TrimFunc(s, unicode.IsDigit) == "" }
