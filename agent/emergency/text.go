package emergency

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"molar/agent/language"
)

// A token is a word of a message, or the mark that ends a clause or a sentence.
type token struct {
	word   string // lower case, with its marks; "," or "." for the two sorts of end
	folded string // without marks
}

const (
	clauseEnd   = ","
	sentenceEnd = "."
)

func (t token) isEnd() bool { return t.word == clauseEnd || t.word == sentenceEnd }

// denies says whether the word would turn a phrase that it stands in into its
// contrary: "the jaw is not broken".
func (t token) denies() bool {
	switch t.word {
	case "not", "no", "never", "isn't", "không", "chưa":
		return true
	}
	return false
}

// plain says whether the word is written without marks, as hurried people type.
func (t token) plain() bool { return t.word == t.folded }

// split cuts a message into tokens. Of a very long one it takes both ends.
func split(text string) []token {
	if len(text) > 2*maxBytes {
		text = text[:maxBytes] + "\n" + text[len(text)-maxBytes:]
	}
	text = strings.ToLower(norm.NFC.String(strings.ToValidUTF8(text, " ")))
	var tokens []token
	start := -1
	flush := func(end int) {
		if start >= 0 {
			word := strings.Trim(strings.ReplaceAll(text[start:end], "’", "'"), "'")
			if word != "" {
				tokens = append(tokens, token{word, language.Fold(word)})
			}
			start = -1
		}
	}
	for i, r := range text {
		if (r == '.' || r == ',') && start >= 0 && isNumber(text[start:i]) && i+1 < len(text) && isNumber(text[i+1:i+2]) {
			flush(i) // of 38.5 the whole degrees are enough
			continue
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || r == '\'' || r == '’' {
			if start < 0 {
				start = i
			}
			continue
		}
		flush(i)
		switch r {
		case ',', ';', ':', '(', ')', '–', '—':
			tokens = append(tokens, token{clauseEnd, clauseEnd})
		case '.', '!', '?', '\n', '…':
			tokens = append(tokens, token{sentenceEnd, sentenceEnd})
		}
	}
	flush(len(text))
	return tokens
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// A phrase is a sequence of words to be found. In its source "a|b" is either word,
// "=a" that word only with its marks, and "*" up to gapWords words of the same clause.
type phrase []alternatives

type alternatives struct {
	gap   bool
	words []wanted
}

// A wanted word is found as it is, and unless it is exact also typed without marks.
type wanted struct {
	token
	exact bool
}

// gapWords is how many words a "*" may stand for.
const gapWords = 4

// A lexicon holds phrases by the folded form of each word that may begin them.
type lexicon map[string][]phrase

func compile[K comparable](sources map[K]string) map[K]lexicon {
	all := make(map[K]lexicon, len(sources))
	for key, source := range sources {
		all[key] = make(lexicon)
		for line := range strings.SplitSeq(source, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				all[key].add(compilePhrase(line))
			}
		}
	}
	return all
}

func (l lexicon) add(p phrase) {
	for _, first := range p[0].words {
		if known := l[first.folded]; len(known) == 0 || &known[len(known)-1][0] != &p[0] {
			l[first.folded] = append(known, p)
		}
	}
}

func compilePhrase(source string) phrase {
	var p phrase
	for field := range strings.FieldsSeq(source) {
		a := alternatives{gap: field == "*"}
		for word := range strings.SplitSeq(field, "|") {
			word, exact := strings.CutPrefix(word, "=")
			a.words = append(a.words, wanted{token{norm.NFC.String(word), language.Fold(word)}, exact})
		}
		p = append(p, a)
	}
	return p
}

// has says whether the word of a message is one of the alternatives. A word that is
// typed without marks stands for any word that it could be.
func (a alternatives) has(t token) bool {
	for _, w := range a.words {
		if t.word == w.word || !w.exact && t.plain() && t.folded == w.folded {
			return true
		}
	}
	return false
}

// match returns where the phrase ends that begins at tokens[i], -1 if none does.
func (p phrase) match(tokens []token, i int) int {
	if len(p) == 0 {
		return i
	}
	if !p[0].gap {
		if i >= len(tokens) || !p[0].has(tokens[i]) {
			return -1
		}
		return p[1:].match(tokens, i+1)
	}
	for skip := 0; skip <= gapWords && i+skip <= len(tokens); skip++ {
		if end := p[1:].match(tokens, i+skip); end >= 0 {
			return end
		}
		if i+skip < len(tokens) && (tokens[i+skip].isEnd() || tokens[i+skip].denies()) {
			break
		}
	}
	return -1
}

// longest returns the end of the longest of the phrases at tokens[i], -1 if none fits.
func (l lexicon) longest(tokens []token, i int) int {
	end := -1
	for _, p := range l[tokens[i].folded] {
		end = max(end, p.match(tokens, i))
	}
	return end
}

// within says whether one of the phrases lies in the tokens.
func (l lexicon) within(tokens []token) bool {
	for i := range tokens {
		if l.longest(tokens, i) >= 0 {
			return true
		}
	}
	return false
}
