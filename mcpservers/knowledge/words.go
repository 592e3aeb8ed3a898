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

// idleWords are words of each language that carry no meaning of their own.
//
//go:embed idle.txt
var idleWords string

// A vocabulary knows every word of a folder, as it is written there, by a number. Words that
// differ only in their marks or, in English, in their endings have one term in common.
type vocabulary struct {
	english bool
	idle    map[string]bool

	numbers map[string]uint32 // of words, by how they are written
	words   []word
	terms   map[string]uint32
}

// A word is one way to write a term.
type word struct {
	term uint32
	idle bool // it carries no meaning of its own
	bare bool // it is written without marks
}

// none is the number of a term that no text holds.
const none = ^uint32(0)

func newVocabulary(languages []string) *vocabulary {
	v := &vocabulary{idle: make(map[string]bool), numbers: make(map[string]uint32), terms: make(map[string]uint32)}
	for line := range strings.Lines(idleWords) {
		lang, words, _ := strings.Cut(line, ":")
		if len(languages) > 0 && !slices.Contains(languages, lang) {
			continue
		}
		v.english = v.english || lang == "en"
		for w := range strings.FieldsSeq(words) {
			v.idle[w] = true
		}
	}
	return v
}

// learn returns the numbers of the words of a text, in their order; new ones get one.
func (v *vocabulary) learn(s string) []uint32 {
	numbers := make([]uint32, 0, len(s)/5)
	for raw := range split(s) {
		n, known := v.numbers[raw]
		if !known {
			n = v.add(strings.Clone(raw))
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func (v *vocabulary) add(raw string) uint32 {
	w := v.read(raw)
	folded := v.fold(raw, w.bare)
	term, known := v.terms[folded]
	if !known {
		term = uint32(len(v.terms)) //nolint:gosec // memory ends long before
		v.terms[folded] = term
	}
	w.term = term
	v.words = append(v.words, w)
	n := uint32(len(v.words) - 1) //nolint:gosec // memory ends long before
	v.numbers[raw] = n
	return n
}

// read returns a word whose term is not looked up yet.
func (v *vocabulary) read(raw string) word {
	return word{term: none, idle: v.idle[raw] || len(raw) == 1, bare: text.NewWord(raw).Bare}
}

func (v *vocabulary) fold(raw string, bare bool) string {
	folded := text.Fold(raw)
	if bare && v.english {
		return text.Stem(folded)
	}
	return folded
}

// An askedWord is a word of a question: how it is written, and its term.
type askedWord struct {
	word
	number uint32 // none when no text writes it so
}

// ask returns the words of a question, of which nothing is learned.
func (v *vocabulary) ask(question string) []askedWord {
	var out []askedWord
	for raw := range split(question) {
		a := askedWord{word: v.read(raw), number: none}
		if n, known := v.numbers[raw]; known {
			a.number = n
		}
		if term, known := v.terms[v.fold(raw, a.bare)]; known {
			a.term = term
		}
		out = append(out, a)
	}
	return out
}

// split yields the words of a text in lower case: letters, digits and marks, without
// apostrophes ("don't" is "dont") and the English genitive.
func split(s string) func(yield func(string) bool) {
	if !norm.NFC.IsNormalString(s) {
		s = norm.NFC.String(s)
	}
	s = strings.ToLower(s)
	if strings.ContainsAny(s, "'’") {
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
