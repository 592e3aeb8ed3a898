package offline

import (
	"regexp"
	"strings"
	"sync"

	"molar/internal/text"
)

// A kind is the form of a value in a question; "" means a plain word.
type kind string

const (
	isQuote  kind = "quoted text"
	isNumber kind = "number"
	isCode   kind = "code" // an id, an address, a path, a date: a word with a digit, slash, @ or dot in it
)

var (
	numberForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?$`) })
	codeForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d|/|@|\.\w`) })
)

// pieceForm matches quoted text, and pieces between spaces.
var pieceForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("[\"“«`]([^\"”»`\\n]+)[\"”»`]|\\B'([^'\\n]+)'\\B|[^\\s\"“«`]+")
})

// A word of a question is a plain word with its key, by which words are compared, or a value.
type word struct {
	kind       kind
	key, text  string
	start, end int // bytes in the question
}

// A question is a person's question, parsed once for all tools.
type question struct {
	text  string
	words []word
	keys  map[string]bool // of the meaningful plain words
}

// maxQuestion bounds the read part of a question, in bytes: the rest rarely tells which tool to use.
const maxQuestion = 2000

func readQuestion(s string) question {
	q := question{text: text.Clip(s, maxQuestion, ""), keys: map[string]bool{}}
	add := func(k kind, start, end int) {
		q.words = append(q.words, word{kind: k, text: q.text[start:end], start: start, end: end})
	}
	for _, at := range pieceForm().FindAllStringSubmatchIndex(q.text, -1) {
		if i := max(at[2], at[4]); i >= 0 {
			add(isQuote, i, max(at[3], at[5]))
			continue
		}
		piece := strings.TrimLeft(q.text[at[0]:at[1]], "(=#$€£[{")
		start := at[1] - len(piece)
		piece = strings.TrimRight(piece, ".,;:!?)%]}")
		switch end := start + len(piece); {
		case numberForm().MatchString(piece):
			add(isNumber, start, end)
			continue
		case codeForm().MatchString(piece):
			add(isCode, start, end)
			continue
		}
		for _, w := range wordForm().FindAllStringIndex(piece, -1) {
			add("", start+w[0], start+w[1])
			plain := &q.words[len(q.words)-1]
			plain.key = keyOf(plain.text)
			q.keys[plain.key] = plain.key != ""
		}
	}
	return q
}

// nameBefore returns the key (the folded stem) of the word before a value, which may be the name of
// its field. It skips function words: "id 7", "a price of 7".
func (q question) nameBefore(i int) string {
	for j := i - 1; j >= 0 && q.words[j].kind == ""; j-- {
		if q.words[j].key != "" {
			return q.words[j].key
		}
	}
	return ""
}
