package guardrail

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"molar/agent/language"
)

// A word is one word of a text, as written and folded.
type word struct {
	raw    string // lower case, composed
	folded string // without marks, English plural endings dropped
	bare   bool   // written without marks; đ, a letter of its own, may be there
	opens  bool   // the first of a clause
	ours   bool   // part of a phrase that speaks for the topic
}

// pauses are the signs between two clauses.
const pauses = ".,;:!?\n…()[]|=>–—"

// splitWords cuts a normalised text into words; everything but letters, digits and
// marks separates.
func splitWords(text string) []word {
	words := make([]word, 0, 1+strings.Count(text, " "))
	rest := strings.ToLower(norm.NFC.String(text))
	for raw := range strings.FieldsFuncSeq(rest, isSeparator) {
		at := strings.Index(rest, raw)
		opens := strings.ContainsAny(rest[:at], pauses)
		rest = rest[at+len(raw):]
		raw = strings.Trim(raw, "'’")
		raw = strings.TrimSuffix(strings.TrimSuffix(raw, "'s"), "’s")
		if raw == "" {
			continue
		}
		raw = calm(raw)
		folded := language.Fold(raw)
		bare := folded == strings.ReplaceAll(raw, "đ", "d")
		words = append(words, word{raw: raw, folded: singular(folded), bare: bare, opens: opens || len(words) == 0})
	}
	return words
}

func isSeparator(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && r != '\'' && r != '’'
}

// singular drops an English plural ending. No Vietnamese syllable ends in s, so
// theirs are safe.
func singular(w string) string {
	switch {
	case len(w) <= 3, strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "aches"):
		return w[:len(w)-1]
	case strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "xes"):
		return w[:len(w)-2]
	}
	return strings.TrimSuffix(w, "s")
}

// A phrase is a lexicon entry ready to match.
type phrase struct {
	words []word
	open  bool // the last word may go on
	tier  tier
}

// A lexicon finds phrases in words, the longest first.
type lexicon struct {
	byFirst map[string][]phrase // by the folded first word
	open    map[byte][]phrase   // one-word phrases with an open end, by the first byte
	near    map[uint32]tier     // hashes of one-word phrases with a letter left out, for typing mistakes
	loose   bool                // marks that were left out are forgiven on single words too
}

func newLexicon(loose bool) *lexicon {
	return &lexicon{byFirst: make(map[string][]phrase), open: make(map[byte][]phrase), near: make(map[uint32]tier), loose: loose}
}

// add enters phrases under one tier. The first tier that a phrase is entered under
// wins.
func (l *lexicon) add(t tier, texts ...string) {
	for _, text := range texts {
		text, open := strings.CutSuffix(strings.TrimSpace(text), "*")
		p := phrase{words: splitWords(text), open: open, tier: t}
		if len(p.words) == 1 && (t == tierAdmit || t == tierRelated) {
			l.addNear(tierRelated, p.words[0].folded)
		}
		switch {
		case len(p.words) == 0 || p.words[0].folded == "": // a mark alone
		case open && len(p.words) == 1:
			first := p.words[0].folded[0]
			l.open[first] = append(l.open[first], p)
		default:
			first := p.words[0].folded
			l.byFirst[first] = append(l.byFirst[first], p)
		}
	}
}

// within reports whether a phrase stands anywhere in words.
func (l *lexicon) within(words []word) bool {
	for i := range words {
		if l.longest(words[i:]) != nil {
			return true
		}
	}
	return false
}

// silence takes what it says against a topic from every phrase that the words hold.
func (l *lexicon) silence(words []word) {
	for i := 0; i < len(words); {
		p := l.longest(words[i:])
		if p == nil {
			i++
			continue
		}
		if p.tier >= tierAdjacent {
			p.tier = tierNone
		}
		i += len(p.words)
	}
}

// longest returns the longest phrase at the start of words, nil when there is none.
func (l *lexicon) longest(words []word) *phrase {
	var best *phrase
	candidates := l.byFirst[words[0].folded]
	for i := range candidates {
		p := &candidates[i]
		if (best == nil || len(p.words) > len(best.words)) && p.starts(words, l.loose) {
			best = p
		}
	}
	if best != nil {
		return best
	}
	if words[0].folded == "" {
		return nil
	}
	open := l.open[words[0].folded[0]]
	for i := range open {
		if open[i].starts(words, l.loose) {
			return &open[i]
		}
	}
	return nil
}

// starts reports whether words begin with the phrase.
func (p *phrase) starts(words []word, loose bool) bool {
	if len(p.words) > len(words) {
		return false
	}
	for i, want := range p.words {
		got := words[i]
		if p.open && i == len(p.words)-1 {
			if !strings.HasPrefix(got.folded, want.folded) {
				return false
			}
			continue
		}
		if !want.matches(got, loose || len(p.words) > 1) {
			return false
		}
	}
	return true
}

// isWritten reports whether the words are the phrase with the very same marks.
func (p *phrase) isWritten(words []word) bool {
	for i, want := range p.words {
		if words[i].raw != want.raw {
			return false
		}
	}
	return true
}

// matches compares a phrase's word with a text's. Marks that are written must be
// the same; marks that were left out are forgiven where a neighbour confirms.
func (want word) matches(got word, forgiving bool) bool {
	switch {
	case got.raw == want.raw:
		return true
	case got.folded != want.folded:
		return false
	case want.bare:
		return got.bare
	}
	return got.bare && forgiving
}
