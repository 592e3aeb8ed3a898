package knowledge

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"molar/internal/text"
)

// languageWords are, for each language, words without meaning and irregular forms.
//
//go:embed words.txt
var languageWords string

// A vocabulary numbers every word of a folder by its spelling. Words that differ only in their
// marks or, in English, in their endings share one term.
type vocabulary struct {
	english, vietnamese bool
	idle                map[string]bool
	light               map[string]bool   // words that say little of what a question is about
	forms               map[string]string // base forms of irregular words
	// senses number the synonym lists of a word by its spelling: without its marks it is often
	// another word. Phrases are keyed by the terms of their last two words.
	senses       map[string]uint32
	phraseSenses map[[2]uint32]uint32

	numbers lexicon // of words, by spelling
	words   []word
	terms   lexicon
	tallies []tally
	initial map[byte][]uint32 // candidate terms for a misspelling, by first letter
}

// A word is one spelling of a term.
type word struct {
	term uint32
	// sense is the number of the word's list of synonyms, or [none].
	sense uint32
	idle  bool   // it has no meaning of its own
	bare  bool   // it is written without marks
	times uint32 // number of occurrences
}

// A tally counts the occurrences of a term: all, and those in meaningful words.
type tally struct{ meant, all uint32 }

// none is the number of a term in no text, and of the gap between two phrases.
const none = ^uint32(0)

// newVocabulary returns an empty vocabulary of the given languages, or of all, with lists of
// synonymous words and phrases.
func newVocabulary(languages []string, synonyms [][]string) *vocabulary {
	v := &vocabulary{
		idle: make(map[string]bool), light: make(map[string]bool), forms: make(map[string]string),
		senses: make(map[string]uint32), phraseSenses: make(map[[2]uint32]uint32),
		numbers: newLexicon(), terms: newLexicon(), initial: make(map[byte][]uint32),
	}
	for line := range strings.Lines(languageWords) {
		about, words, _ := strings.Cut(line, ":")
		lang, kind, _ := strings.Cut(about, " ")
		if len(languages) > 0 && !slices.Contains(languages, lang) {
			continue
		}
		v.english, v.vietnamese = v.english || lang == "en", v.vietnamese || lang == "vi"
		for w := range strings.FieldsSeq(words) {
			switch kind {
			case "idle":
				v.idle[w] = true
				continue
			case "light":
				v.light[w] = true
				continue
			}
			base, forms, _ := strings.Cut(w, "=")
			for form := range strings.SplitSeq(forms, ",") {
				v.forms[form] = base
			}
		}
	}
	for i, list := range synonyms {
		for _, phrase := range list {
			v.same(slices.Collect(split(phrase)), uint32(i))
		}
	}
	return v
}

// same adds a word or phrase to a list of synonyms.
func (v *vocabulary) same(words []string, list uint32) {
	switch n := len(words); {
	case n > 1:
		v.phraseSenses[[2]uint32{v.term(v.fold(words[n-2])), v.term(v.fold(words[n-1]))}] = list
	case n == 1 && text.NewWord(words[0]).Bare:
		v.senses[v.fold(words[0])] = list
	case n == 1:
		v.senses[words[0]] = list
	}
}

// sense returns the synonym list of a word, alone or after another word; none if there is none.
func (v *vocabulary) sense(previous, term uint32, own uint32) uint32 {
	if s, ok := v.phraseSenses[[2]uint32{previous, term}]; ok {
		return s
	}
	return own
}

// learn returns the numbers of the words of a text, in order, and numbers new ones.
func (v *vocabulary) learn(s string) []uint32 {
	numbers := make([]uint32, 0, len(s)/5)
	for raw := range split(withParts(s, always)) {
		n, known := v.numbers.add(raw)
		if !known {
			v.add(raw)
		}
		numbers = append(numbers, n)
		w := &v.words[n]
		w.times++
		t := &v.tallies[w.term]
		if t.all++; !w.idle {
			t.meant++
		}
	}
	return numbers
}

func always(string) bool { return true }

func (v *vocabulary) add(raw string) {
	w := v.read(raw)
	w.term = v.term(v.fold(raw))
	v.words = append(v.words, w)
}

// term returns the number of a term, and numbers a new one.
func (v *vocabulary) term(folded string) uint32 {
	term, known := v.terms.add(folded)
	if !known {
		v.tallies = append(v.tallies, tally{})
		if len(folded) >= fixableLength-1 && folded[0] < utf8.RuneSelf {
			v.initial[folded[0]] = append(v.initial[folded[0]], term)
		}
	}
	return term
}

// read returns a word before its term is looked up.
func (v *vocabulary) read(raw string) word {
	w := word{term: none, sense: none, idle: v.idle[raw] || len(raw) == 1, bare: text.NewWord(raw).Bare}
	if w.bare {
		raw = v.fold(raw)
	}
	if s, ok := v.senses[raw]; ok {
		w.sense = s
	}
	return w
}

func (v *vocabulary) fold(raw string) string {
	if base := v.forms[raw]; base != "" {
		raw = base
	}
	folded := text.Fold(raw)
	if v.english && text.NewWord(raw).Bare {
		if s := stem(folded); !v.idle[s] { // the evening is not even, nor are the news new
			return s
		}
	}
	return folded
}

// withParts returns a text with the words in each name such as maxAge behind it, or in its place if the name
// alone is unknown.
func withParts(s string, isKnown func(name string) bool) string {
	isLower := func(i int) bool { return s[i] >= 'a' && s[i] <= 'z' || s[i] >= '0' && s[i] <= '9' }
	isUpper := func(i int) bool { return s[i] >= 'A' && s[i] <= 'Z' }
	var b strings.Builder
	done := 0
	for i := 1; i < len(s); i++ {
		if !isUpper(i) || !isLower(i-1) {
			continue
		}
		start, end := i, i
		for start > done && (isLower(start-1) || isUpper(start-1)) {
			start--
		}
		for end < len(s) && (isLower(end) || isUpper(end)) {
			end++
		}
		if isUpper(start) { // such as GitHub, which is no hub
			i = end
			continue
		}
		b.WriteString(s[done:start])
		if isKnown(s[start:end]) {
			b.WriteString(s[start:end])
			b.WriteByte(' ')
		}
		for at := start; at < end; at++ {
			if at > start && isUpper(at) && isLower(at-1) {
				b.WriteByte(' ')
			}
			b.WriteByte(s[at])
		}
		done, i = end, end
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// split yields the words of a text in lower case: letters, digits and marks, without
// apostrophes ("don't" is "dont") and the English genitive.
func split(s string) func(yield func(string) bool) {
	if !norm.NFC.IsNormalString(s) {
		s = norm.NFC.String(s)
	}
	s = strings.ToLower(s)
	if strings.Contains(s, "'") || strings.Contains(s, "’") { // much faster than any of a set
		s = strings.NewReplacer("'s ", " ", "’s ", " ", "'", "", "’", "").Replace(s)
	}
	return func(yield func(string) bool) {
		start := -1
		for i := 0; i < len(s); {
			r, n := rune(s[i]), 1
			if r >= utf8.RuneSelf {
				r, n = utf8.DecodeRuneInString(s[i:])
			}
			in := r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r))
			switch {
			case in && start < 0:
				start = i
			case !in && start >= 0:
				if !yield(s[start:i]) {
					return
				}
				start = -1
			}
			i += n
		}
		if start >= 0 {
			yield(s[start:])
		}
	}
}
