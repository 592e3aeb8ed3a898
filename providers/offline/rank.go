package offline

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"molar/schemas"
)

// Threshold is the score below which a tool is never called. Scores have no upper
// limit; a tool whose name and arguments a question fits has 1.5 to 4.
const Threshold = 1.0

// A Score says how well a tool suits a question, and why.
type Score struct {
	Tool  string // the offered name
	Score float64
	Why   string // matched words and corrections, for people
}

// A candidate is a tool with its score and the arguments found for it.
type candidate struct {
	Score
	info    schemas.ToolInfo
	filling *filling
}

// An index is a set of tools, and how much each word says among them.
type index struct {
	tools []indexed
	weigh func(word string) float64
}

func newIndex(tools []schemas.ToolInfo) index {
	var x index
	for _, t := range tools {
		x.tools = append(x.tools, indexTool(t))
	}
	x.weigh = rarity(x.tools)
	return x
}

// candidates returns all tools, best first.
func (x index) candidates(q question) []candidate {
	var out []candidate
	for _, t := range x.tools {
		out = append(out, t.score(q, x.weigh))
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(b.Score.Score, a.Score.Score) })
	return out
}

// An indexed tool is what the scorer knows of it.
type indexed struct {
	info   schemas.ToolInfo
	fields []field
	name   []string           // the words of its own name
	weight map[string]float64 // of each word: the best place where it stands
}

// The places where a word may stand, and what a match there is worth.
const (
	inName        = 1.0
	inTitle       = 0.8
	inParameter   = 0.6
	inEnum        = 0.5
	inDescription = 0.4
	inServer      = 0.3
)

func indexTool(info schemas.ToolInfo) indexed {
	t := indexed{info: info, fields: fieldsOf(info), weight: map[string]float64{}}
	t.name = t.add(cmp.Or(info.ToolName, info.Name), inName)
	t.add(info.Title, inTitle)
	t.add(clip(info.Description, 500), inDescription)
	t.add(info.Server, inServer)
	for _, f := range t.fields {
		t.add(f.name, inParameter)
		t.add(clip(f.Description, 200), inServer)
		for _, member := range f.members() {
			t.add(member, inEnum)
		}
	}
	return t
}

func (t indexed) add(text string, worth float64) []string {
	words := keysOf(text)
	for _, w := range words {
		t.weight[w] = max(t.weight[w], worth)
	}
	return words
}

// rarity weighs a word from 1 (one tool has it) down (all have it); a verb counts less
// than a thing.
func rarity(tools []indexed) func(word string) float64 {
	count := map[string]float64{}
	for _, t := range tools {
		for word := range t.weight {
			count[word]++
		}
	}
	n := float64(len(tools))
	return func(word string) float64 {
		w := 0.35 + 0.65*min(1, math.Log1p(n/max(count[word], 1))/math.Log1p(n))
		if isVerb(word) {
			return 0.6 * w
		}
		return w
	}
}

// minSubject is how much of a tool's subject a question must name: about one word
// of its name or two of its description. A verb alone ("find", "write") is no reason
// to call anything.
const minSubject = 0.42

func (t indexed) score(q question, weigh func(string) float64) candidate {
	c := candidate{info: t.info, filling: fill(q, t)}
	subject, actions, matched := t.overlap(q, weigh)
	said, verb, fit := 0.9*t.coverage(q, weigh), t.verbFit(q), c.filling.fit()
	total := min(subject, 3) + min(actions, 0.9) + said + verb + fit
	c.Why = fmt.Sprintf("words %s; share of the name %.2f; verb %+.2f; arguments %+.2f", strings.Join(matched, ", "), said, verb, fit)
	// A value that only this kind of field can hold speaks for the tool's subject too.
	if subject < minSubject && c.filling.exact == 0 {
		total = min(total, Threshold/2)
		c.Why += "; no word of its subject is said"
	}
	c.Tool, c.Score.Score = t.info.Name, math.Round(total*1000)/1000
	return c
}

// overlap adds up the words that the question and the tool share: those that name
// things, and those that name actions.
func (t indexed) overlap(q question, weigh func(string) float64) (subject, actions float64, matched []string) {
	for _, word := range slices.Sorted(maps.Keys(q.words)) { // sums of floats depend on their order
		worth := t.weight[word] * weigh(word)
		switch {
		case worth == 0:
			continue
		case isVerb(word):
			actions += worth
		default:
			subject += worth
		}
		matched = append(matched, fmt.Sprintf("%q %.2f", word, worth))
	}
	return subject, actions, matched
}

// coverage is how much of the tool's name the question says.
func (t indexed) coverage(q question, weigh func(string) float64) float64 {
	said, all := 0.0, 0.0
	for _, word := range t.name {
		w := weigh(word)
		if all += w; q.words[word] {
			said += w
		}
	}
	return said / max(all, 1e-9)
}

// verbFit compares what the question wants done with what the tool does: one that
// changes something is not called for a question that asks for no change, nor one that
// only looks where a change is wanted.
func (t indexed) verbFit(q question) float64 {
	i := slices.IndexFunc(t.name, isVerb)
	switch {
	case i < 0:
		return 0
	case q.words[t.name[i]]:
		return 0.25
	case changes(t.name[i]), q.changes:
		return -0.6
	}
	return 0
}
