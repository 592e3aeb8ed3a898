package knowledge

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/internal/text"
)

// fixableLength is the length from which an unknown word is treated as a misspelt known one.
const fixableLength = 5

// An askedWord is a word of a question: its spelling and its term.
type askedWord struct {
	word
	number uint32  // none if no text has this spelling
	key    string  // what its term is looked up by
	isName bool    // it begins with a capital letter, and no sentence does there
	meant  float64 // the probability that it is meaningful
	raw    string
}

// ask returns the words of a question, without learning them. If the question has no marks at
// all, a word may be any that folds to it: it means as much as they do in the folder.
func (v *vocabulary) ask(question string) []askedWord {
	unmarked := v.vietnamese
	question = withParts(question, func(name string) bool { _, known := v.numbers.number(strings.ToLower(name)); return known })
	names := namesIn(question)
	for raw := range split(question) {
		unmarked = unmarked && text.Fold(raw) == raw
	}
	var out []askedWord
	before := askedWord{word: word{term: none, idle: true}}
	for raw := range split(question) {
		a := askedWord{word: v.read(raw), number: none, meant: 1, raw: raw, isName: names[raw]}
		if n, known := v.numbers.number(raw); known {
			a.number = n
		}
		key, joined := v.reading(a, before)
		a.key = key
		if joined {
			out[len(out)-1].idle = true
		}
		if term, known := v.terms.number(key); known {
			a.term = term
		}
		if s, ok := v.senses[key]; ok && a.bare {
			a.sense = s
		}
		if unmarked && a.term != none && v.tallies[a.term].all > 0 {
			t := v.tallies[a.term]
			a.meant = float64(t.meant) / float64(t.all)
			a.idle = t.meant == 0
		}
		a.sense = v.sense(before.term, a.term, a.sense)
		out, before = append(out, a), a
	}
	return out
}

// namesIn returns, in lower case, the words of a question that are written like names: with a capital letter
// where no sentence begins, beside words without.
func namesIn(question string) map[string]bool {
	names := make(map[string]bool)
	starts, small := true, false
	for field := range strings.FieldsSeq(question) {
		r, _ := utf8.DecodeRuneInString(strings.TrimLeft(field, "\"'(“‘"))
		small = small || unicode.IsLower(r)
		if unicode.IsUpper(r) && !starts {
			for raw := range split(field) {
				names[raw] = true
			}
		}
		starts = strings.ContainsAny(field[len(field)-1:], ".?!:")
	}
	if !small {
		clear(names)
	}
	return names
}

// reading returns the term that a word of a question is read as: the compound with the word
// before it ("mouth wash"), else its own, else the known one with one difference.
func (v *vocabulary) reading(a, before askedWord) (term string, joined bool) {
	term = v.fold(a.raw)
	if a.idle || !a.bare || !v.english {
		return term, false
	}
	_, known := v.terms.number(term)
	if !before.idle && before.bare && (!known || before.term == none) {
		both := v.fold(before.raw + a.raw)
		if _, joined = v.terms.number(both); joined {
			return both, true
		}
	}
	if !known && len(term) >= fixableLength {
		return cmp.Or(v.nearest(term), term), false
	}
	return term, false
}

// nearest returns the most frequent known word with one difference, or "". The first letter must
// match, since people rarely mistype it. Of equally frequent ones it takes the first by alphabet.
func (v *vocabulary) nearest(folded string) (best string) {
	most := uint32(0)
	for _, term := range v.initial[folded[0]] {
		if length := len(v.terms.span(term)) - len(folded); length < -1 || length > 1 {
			continue
		}
		known := v.terms.at(term)
		if !oneSlip(folded, known) {
			continue
		}
		if n := v.tallies[term].meant; n > most || n == most && n > 0 && known < best {
			best, most = known, n
		}
	}
	return best
}

// oneSlip reports whether two words differ by one letter too many, too few, other or
// swapped with its neighbour.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) || a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
