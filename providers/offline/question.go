package offline

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A question is a person's words, read once for all tools.
type question struct {
	text    string
	tokens  []token // without those inside values
	words   map[string]bool
	values  []value
	changes bool // it says a verb that alters something
}

// A kind says what a value in a question looks like.
type kind string

const (
	isQuote  kind = "quoted text"
	isUUID   kind = "uuid"
	isURL    kind = "url"
	isEmail  kind = "e-mail"
	isNumber kind = "number"
	isCode   kind = "identifier" // an id, a path: a word with a digit, slash or dot in it
)

// A value is what can be told from the words of a question by its form alone.
type value struct {
	kind       kind
	text       string
	start, end int // bytes in the question
}

type form struct {
	kind kind
	re   *regexp.Regexp
}

// forms find values, the more particular kinds first.
var forms = sync.OnceValue(func() []form {
	return []form{
		{isQuote, regexp.MustCompile(`"([^"\n]+)"|“([^”\n]+)”|«([^»\n]+)»|` + "`([^`\n]+)`" + `|\B'([^'\n]+)'\B`)},
		{isUUID, regexp.MustCompile(`(?i)\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b`)},
		{isURL, regexp.MustCompile(`\b(https?://[^\s"'<>]*[^\s"'<>.,;:!?)])`)},
		{isEmail, regexp.MustCompile(`([\w.%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)`)},
		{isNumber, regexp.MustCompile(`(?:^|[\s(:=#$€£])(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)(?:$|[\s).,;:!?%])`)},
		{isCode, regexp.MustCompile(`(?:^|[\s(:=])([\w.~/*-]*(?:\d|/|\.\w)[\w./*-]*[\w/*])`)},
	}
})

// Bounds of what is read of a question: the rest is rarely about which tool to use.
const (
	maxQuestion = 2000 // bytes
	maxValues   = 48
)

func readQuestion(s string) question {
	if len(s) > maxQuestion {
		s = strings.ToValidUTF8(s[:maxQuestion], "")
	}
	q := question{text: s, values: valuesOf(s), words: map[string]bool{}}
	for _, t := range tokenize(s) {
		if slices.ContainsFunc(q.values, func(v value) bool { return v.start < t.end && t.start < v.end }) {
			continue
		}
		q.tokens = append(q.tokens, t)
		q.words[t.key] = t.key != ""
		q.changes = q.changes || changes(t.key)
	}
	return q
}

// valuesOf returns the values in s in their order; none lies in another.
func valuesOf(s string) []value {
	var values []value
	rest := []byte(s)
	for _, f := range forms() {
		for len(values) < maxValues {
			loc := f.re.FindSubmatchIndex(rest)
			if loc == nil {
				break
			}
			i := 2 + slices.IndexFunc(loc[2:], func(at int) bool { return at >= 0 })
			v := value{f.kind, string(rest[loc[i]:loc[i+1]]), loc[i], loc[i+1]}
			if f.kind == isQuote {
				v.start, v.end = loc[0], loc[1]
			}
			values = append(values, v)
			for at := v.start; at < v.end; at++ {
				rest[at] = '\n'
			}
		}
	}
	slices.SortFunc(values, func(a, b value) int { return a.start - b.start })
	return values
}
