package subject

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"molar/internal/text"
)

// The results of Detect.
const (
	Vietnamese = "vi"
	English    = "en"
	// Other is any other language.
	Other = "other"
)

// maxScan bounds the scanned part of a text, in bytes: enough for any question, and little enough
// that a pasted book costs no time.
const maxScan = 2000

// Detect returns the language of a message, and whether it is sure. If the text reveals too little,
// it returns previous, the language of the conversation so far (English if empty), as unsure.
func Detect(message, previous string) (lang string, sure bool) {
	if lang, sure = guess(message, previous != ""); lang == "" {
		lang = English
		if previous == Vietnamese || previous == Other {
			lang = previous
		}
	}
	return lang, sure
}

// Guess returns the language of the message alone, and whether it is sure. It is empty for a text
// that reveals too little, such as a name, a number or "ok".
func Guess(message string) (lang string, sure bool) { return guess(message, false) }

// guess decides by the letters, if they are of another alphabet or only Vietnamese uses them,
// unless the sentence around them is in another language; else it scores frequent words and the
// shapes of words. With behind, the message follows others, and one or two words count only if
// sure.
func guess(message string, behind bool) (lang string, sure bool) {
	var s languageScore // on the stack: it is large
	s.scan(message)
	if s.alien > s.latin {
		return Other, true
	}
	if s.own > 0 {
		return s.withMarks()
	}
	lang, sure = s.withoutMarks()
	if !sure && (s.words < 2 || s.words == 2 && behind) {
		return "", false
	}
	return lang, sure
}

// A languageScore sums the evidence of a text's words for its language.
type languageScore struct {
	// latin and alien count the letters of the Latin alphabet and all others.
	latin, alien int
	words        int
	// marked counts the words with Vietnamese letters, own those with one that no other language
	// uses.
	marked, own int
	// viGrammar and enGrammar count the grammatical words, and othersGrammar those of each other
	// language that cannot be Vietnamese.
	viGrammar, enGrammar int
	othersGrammar        [maxLanguages]int
	// vietnamese, english and others sum the weights of known and likely words. strange sums the
	// evidence for any other language.
	vietnamese, english, strange float64
	others                       [maxLanguages]float64
}

// withMarks decides for a text with letters that only Vietnamese uses: the language of the
// grammatical words wins, so a Vietnamese term leaves an English question English.
func (s *languageScore) withMarks() (string, bool) {
	host, grammar := English, s.enGrammar
	if n := slices.Max(s.othersGrammar[:]); n > grammar {
		host, grammar = Other, n
	}
	if grammar > s.viGrammar && grammar*2 >= s.marked && s.words-s.marked > 1 {
		return host, grammar >= s.viGrammar+2
	}
	return Vietnamese, s.marked*4 >= s.words || s.viGrammar > grammar
}

// leastLead is the lead in score that a language needs to be guessed at all.
const leastLead = 0.4

// withoutMarks decides by the balance of scores. The lead needed to be sure grows with the
// length, so that one loan word does not turn a sentence.
func (s *languageScore) withoutMarks() (lang string, sure bool) {
	type candidate struct {
		lang  string
		score float64
	}
	all := []candidate{{Vietnamese, s.vietnamese}, {English, s.english}, {Other, s.strange + slices.Max(s.others[:])}}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	lead := all[0].score - all[1].score
	if lead <= leastLead {
		return "", false
	}
	return all[0].lang, lead >= 0.9+0.05*float64(min(s.words, 20))
}

// scan weighs the words of a message one by one.
func (s *languageScore) scan(message string) {
	message = text.Clip(message, maxScan, "")
	for word := range strings.FieldsFuncSeq(norm.NFC.String(message), notWordRune) {
		s.add(strings.ToLower(strings.Trim(strings.ReplaceAll(word, "’", "'"), "'")))
	}
}

// The weights of words. A known word counts less for other languages if it could be a Vietnamese
// syllable, and an unknown one counts for English and others by its letters. Marks that Vietnamese
// does not use occur in few English words.
const (
	known         = 1
	knownSyllable = 0.8
	likeSyllable  = 0.65
	likeEnglish   = 0.7
	likeOther     = 0.7
	likeBoth      = 0.25 // letters that look English in another language's word
	strangeMark   = 1
)

func (s *languageScore) add(word string) {
	latin, alien := count(word)
	s.latin += latin
	s.alien += alien
	if alien > 0 {
		s.words++
		s.strange += known
		return
	}
	folded := fold(word)
	in, syllable := lookUp(folded), isSyllable(folded)
	if saysNothing(folded) && in == 0 && isPlain(word) || strings.ContainsFunc(folded, unicode.IsDigit) {
		return
	}
	s.words++
	if !isPlain(word) {
		in = s.marks(word, in, syllable)
	}
	s.weigh(folded, in, syllable)
}

// marks counts the marks of a word and returns the languages that write it so.
func (s *languageScore) marks(word string, in languages, syllable bool) languages {
	own, shared := marksOf(word, syllable)
	if !own && !shared {
		s.strange += strangeMark
		return in
	}
	if s.marked++; own {
		s.own++
	}
	if in = in&anyVietnamese | lexicon()[word]&anyOther; in == 0 {
		in = vietnameseWord
	}
	return in
}

// weigh adds a word's evidence, by the languages that it is known in.
func (s *languageScore) weigh(folded string, in languages, syllable bool) {
	if in&vietnameseGrammar != 0 {
		s.viGrammar++
	}
	if in&englishGrammar != 0 {
		s.enGrammar++
	}
	switch {
	case in&anyVietnamese != 0:
		s.vietnamese += known
	case syllable && len(folded) > 1:
		s.vietnamese += likeSyllable
	}
	switch {
	case in&anyEnglish != 0:
		s.english += known
	case in == 0 && !syllable:
		like := englishness(folded)
		s.english += likeEnglish * like
		s.strange += likeOther + (likeBoth-likeOther)*like
	}
	weight := known * 1.0
	if syllable && in&anyEnglish == 0 {
		weight = knownSyllable
	}
	in.others(func(i int) {
		s.others[i] += weight
		if !syllable {
			s.othersGrammar[i]++
		}
	})
}

// saysNothing reports whether a word is a single letter, or an abbreviation without a vowel.
func saysNothing(folded string) bool {
	return len(folded) < 2 || !strings.ContainsAny(folded, "aeiouy")
}

// marksOf reports whether a word has Vietnamese letters: own ones that no other language uses, or
// shared ones such as the acute in "café", which is no Vietnamese syllable.
func marksOf(word string, syllable bool) (own, shared bool) {
	for i, r := range word {
		switch {
		case r < utf8.RuneSelf:
		case r >= 0x1EA0 && r <= 0x1EF9, r == 'ơ', r == 'ư': // two marks, a hook above or a dot below
			return true, false
		case r == 'ă' && i+len("ă") == len(word): // in Vietnamese it never ends a syllable
			return false, false
		case strings.ContainsRune("đăĩũ", r):
			own = syllable
		case strings.ContainsRune("àáâãèéêìíòóôõùúý", r):
			shared = syllable
		default:
			return false, false
		}
	}
	return own, shared
}

// count counts the letters of the Latin alphabet and all others.
func count(word string) (latin, alien int) {
	for _, r := range word {
		switch {
		case unicode.Is(unicode.Latin, r):
			latin++
		case unicode.IsLetter(r):
			alien++
		}
	}
	return latin, alien
}

func notWordRune(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && r != '\'' && r != '’'
}

func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
