package offline

import (
	"slices"
	"strings"
	"time"
)

// A question is a user's words, read once for all tools.
type question struct {
	text       string
	vietnamese bool
	book       phraseBook
	tokens     []token
	mentions   []mention
	owner      []int      // of each token: the mention it belongs to, or -1
	terms      []term     // what the question is about; values left out
	phrase     []int      // of each token: the term it belongs to, or -1
	keys       [][]string // of each token, for finding the names of arguments
	hints      []string   // keys that the kinds of its values suggest
	// prepositions of each token; empty for other words.
	prepositions []preposition
	plural       bool
	asks         bool // it opens with a question word rather than a command
}

// maxQuestion is how many bytes of a question are read; the rest is rarely about
// which tool to use.
const maxQuestion = 2000

// maxMentions is how many values of a question are read.
const maxMentions = 48

func readQuestion(text string, now time.Time) *question {
	if len(text) > maxQuestion {
		text = strings.ToValidUTF8(text[:maxQuestion], "")
	}
	q := &question{text: text, vietnamese: isVietnamese(text), tokens: tokenize(text)}
	q.book = newPhraseBook(q.vietnamese, q.tokens)
	q.mentions = findMentions(text, now)
	q.mentions = q.mentions[:min(len(q.mentions), maxMentions)]
	q.owner = make([]int, len(q.tokens))
	for i, t := range q.tokens {
		q.owner[i] = slices.IndexFunc(q.mentions, func(m mention) bool { return m.start <= t.start && t.end <= m.end })
	}
	q.terms = q.book.read(q.tokens, q.isValue)
	q.phrase = make([]int, len(q.tokens))
	for i := range q.phrase {
		q.phrase[i] = -1
	}
	for i := range q.terms {
		q.terms[i].keys = q.inPlace(q.terms[i])
		for j := q.terms[i].from; j < q.terms[i].to; j++ {
			q.phrase[j] = i
		}
	}
	q.hints = q.suggested()
	q.keys = make([][]string, len(q.tokens))
	q.prepositions = make([]preposition, len(q.tokens))
	for i, t := range q.tokens {
		q.prepositions[i] = q.readPreposition(t)
		q.keys[i] = []string{t.stem}
	}
	for _, t := range q.terms {
		for i := t.from; i < t.to; i++ {
			q.keys[i] = append(q.keys[i], t.keys...)
			if t.to-t.from > 1 && !q.isValue(i) { // the words of a phrase mean something alone too
				for _, c := range q.book.lookUp(q.tokens[i].stem, q.tokens[i].marked, q.tokens[i].bare) {
					q.keys[i] = append(q.keys[i], c.key)
				}
			}
		}
		q.plural = q.plural || t.plural
	}
	q.asks = q.opensWithQuestion()
	return q
}

// inPlace drops the verbs of a word that can only be a noun where it stands: after an
// article, or in the plural.
func (q *question) inPlace(t term) []string {
	if len(nouns(t.keys)) == 0 {
		return t.keys
	}
	things := slices.DeleteFunc(slices.Clone(t.keys), func(k string) bool { return k[0] == '!' })
	articles := []string{"the", "a", "an", "this", "that", "these", "my", "your", "our", "any", "which", "what", "some", "of", "no", "cuốn", "quyển"}
	if t.plural || t.from > 0 && slices.Contains(articles, strings.ToLower(q.tokens[t.from-1].raw)) {
		return things
	}
	return t.keys
}

// samePhrase reports whether two tokens are of one phrase ("tiêu đề").
func (q *question) samePhrase(i, j int) bool {
	return q.phrase[i] >= 0 && j < len(q.phrase) && q.phrase[i] == q.phrase[j]
}

// isValue reports whether a token is part of a value rather than of the request.
// Names and days count as words too: both can be the subject.
func (q *question) isValue(i int) bool {
	if q.owner[i] < 0 {
		return false
	}
	m := q.mentions[q.owner[i]]
	switch m.kind {
	case isProper:
		// A run of capitals is a name; one capital may be a heading-like spelling.
		return strings.Contains(m.text, " ")
	case isDate, isTime:
		return !isWord(q.tokens[i])
	case isCurrency, isNumber:
		return !m.weak && !isWord(q.tokens[i])
	}
	return true
}

func isWord(t token) bool { return t.bare[0] < '0' || t.bare[0] > '9' }

func (q *question) suggested() []string {
	var keys []string
	for _, m := range q.mentions {
		switch m.kind {
		case isEmail:
			keys = append(keys, "~email")
		case isPath:
			keys = append(keys, "~file")
			if !strings.Contains(m.text[strings.LastIndexAny(m.text, `/\\`)+1:], ".") {
				keys = append(keys, "~directory")
			}
		case isCurrency:
			keys = append(keys, "~currency")
		case isURL:
			keys = append(keys, "~page", "~web")
		case isRepo:
			keys = append(keys, "~repository")
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (q *question) opensWithQuestion() bool {
	if len(q.tokens) == 0 {
		return false
	}
	if strings.HasSuffix(strings.TrimSpace(q.text), "?") {
		return true
	}
	return slices.Contains([]string{
		"what", "who", "when", "where", "which", "how", "is", "are", "does", "do", "did", "will", "has", "have", "any",
	}, q.tokens[0].bare)
}

// verbs returns the verb keys of the request.
func (q *question) verbs() []string {
	var out []string
	for _, t := range q.terms {
		out = append(out, t.verbs()...)
	}
	return out
}

// tokenAt returns the index of the first token at or after a byte.
func (q *question) tokenAt(pos int) int {
	i, _ := slices.BinarySearchFunc(q.tokens, pos, func(t token, pos int) int { return t.start - pos })
	return i
}

// named reports how near a name of the field stands to the tokens from..to: 0.5
// right before them, less farther off, 0 when it does not.
func (q *question) named(f field, from, to int) float64 {
	for d := 1; d <= 3 && from-d >= 0; d++ {
		i := from - d
		if q.tokens[i+1].breaks && !strings.ContainsAny(q.text[q.tokens[i].end:q.tokens[i+1].start], ":") {
			break
		}
		if q.owner[i] >= 0 && !isWord(q.tokens[i]) {
			break
		}
		if shares(q.keys[i], f.keys) {
			return 0.6 - 0.1*float64(d)
		}
	}
	for d := range 2 {
		i := to + d
		if i >= len(q.tokens) || q.tokens[i].breaks {
			break
		}
		if shares(q.keys[i], f.keys) {
			return 0.5 - 0.2*float64(d)
		}
	}
	return 0
}

func shares(a, b []string) bool {
	return slices.ContainsFunc(a, func(k string) bool { return slices.Contains(b, k) })
}
