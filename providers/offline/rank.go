package offline

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"molar/internal/text"
	"molar/schemas"
)

// Threshold is the score below which a tool is never called. Scores have no upper limit; a tool
// whose name and arguments fit a question scores 1.5 to 4.
const Threshold = 1.0

// minSubject is the least score of a tool's subject words in a question: about one word of its name
// or two of its description. A verb alone ("find", "write") does not justify a call, and a tool that
// makes changes is called only if the question asks for the change.
const minSubject = 0.42

// The places where a word of a tool may occur, and the weight of a match there.
const (
	inName        = 1.0
	inArgument    = 0.6
	inDescription = 0.4
)

// A candidate is a tool and its score for a question.
type candidate struct {
	schemas.ToolInfo
	fields []field
	name   []string           // the words of its own name
	worth  map[string]float64 // the weight of each word, by the best place where it occurs
	score  float64
}

func newCandidate(info schemas.ToolInfo) candidate {
	c := candidate{info, fieldsOf(info), keysOf(cmp.Or(info.ToolName, info.Name)), map[string]float64{}, 0}
	for _, w := range keysOf(info.Server + " " + info.Title + " " + text.Clip(info.Description, 500, "")) {
		c.worth[w] = inDescription
	}
	for _, f := range c.fields {
		for _, w := range keysOf(f.name + " " + strings.Join(f.members(), " ")) {
			c.worth[w] = inArgument
		}
	}
	for _, w := range c.name {
		c.worth[w] = inName
	}
	return c
}

// rank scores tools for a question, and returns them best first. Equal scores keep the order.
func rank(tools []schemas.ToolInfo, q question) []candidate {
	var ranked []candidate
	holders := map[string]float64{}
	for _, info := range tools {
		c := newCandidate(info)
		ranked = append(ranked, c)
		for w := range c.worth {
			holders[w]++
		}
	}
	// A word counts 1 if one tool has it, less if several do, and a verb less than a thing.
	n := float64(len(tools))
	weigh := func(word string) float64 {
		w := 0.35 + 0.65*min(1, math.Log1p(n/max(holders[word], 1))/math.Log1p(n))
		if isVerb(word) {
			return 0.6 * w
		}
		return w
	}
	for i := range ranked {
		ranked[i].suit(q, weigh)
	}
	slices.SortStableFunc(ranked, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	return ranked
}

// suit scores a tool by the words that it shares with the question, and by the share of its name that
// the question contains.
func (c *candidate) suit(q question, weigh func(string) float64) {
	var subject, named, whole float64
	for _, w := range slices.Sorted(maps.Keys(q.keys)) { // sums of floats depend on their order
		worth := c.worth[w] * weigh(w)
		if c.score += worth; !isVerb(w) {
			subject += worth
		}
	}
	unasked := false
	for _, w := range c.name {
		if whole += weigh(w); q.keys[w] {
			named += weigh(w)
		}
		unasked = unasked || changes(w) && !q.keys[w]
	}
	c.score += 0.9 * named / max(whole, 1e-9)
	if subject < minSubject || unasked {
		c.score = min(c.score, Threshold/2)
	}
}
