package offer

import (
	"cmp"
	"math"
	"slices"

	"molar/schemas"
)

// Of indexes tools once and ranks them for any number of questions, best first. A score of 0 means
// that no word matches; equal scores keep the order of the tools.
func Of(tools []schemas.ToolInfo) func(question string) []Ranked {
	x := newWordIndex(tools)
	return func(question string) []Ranked {
		wanted := x.thesaurus.read(question)
		ranked := make([]Ranked, len(tools))
		for i, t := range tools {
			ranked[i] = Ranked{Name: t.Name, Score: x.score(i, wanted)}
		}
		slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
		return ranked
	}
}

// The fields of a tool; a word's weight depends on its field: a name describes what a tool is for,
// a description also what it is not for.
const (
	inName = iota
	inTitle
	inServer
	inDescription
	inParameters
	inExplanations
	fields
)

func weights() [fields]float64 { return [fields]float64{4, 2, 2, 2, 1, 0.5} }

// saturation bounds the score of a repeated word.
const saturation = 1.2

// shortness is how much less a word counts in a field longer than usual.
const shortness = 0.6

// A wordIndex holds the words of tools.
type wordIndex struct {
	thesaurus *thesaurus
	tools     []map[string]float64 // for each tool, the weight of each word
	rarity    map[string]float64   // of each word
}

func newWordIndex(tools []schemas.ToolInfo) wordIndex {
	x := wordIndex{thesaurus: words(), rarity: map[string]float64{}}
	texts := make([][fields][]string, len(tools))
	var usual [fields]float64
	for i, t := range tools {
		texts[i] = wordsOf(t)
		for f, words := range texts[i] {
			usual[f] += float64(len(words)) / float64(len(tools))
		}
	}
	for _, text := range texts {
		about := map[string]float64{}
		for f, words := range text {
			length := 1 - shortness + shortness*float64(len(words))/max(usual[f], 1)
			for _, w := range words {
				about[w] += weights()[f] / length
			}
		}
		for w := range about {
			x.rarity[w]++
		}
		x.tools = append(x.tools, about)
	}
	for w, n := range x.rarity {
		x.rarity[w] = math.Log1p((float64(len(tools)) - n + 0.5) / (n + 0.5))
	}
	return x
}

// score sums, for each wanted thing, the score of its best word in a tool.
func (x wordIndex) score(tool int, wanted []want) float64 {
	sum := 0.0
	for _, w := range wanted {
		best := 0.0
		for _, word := range w {
			about := x.tools[tool][word.stem]
			best = max(best, word.weight*x.rarity[word.stem]*about/(about+saturation))
		}
		sum += best
	}
	return math.Round(sum*1000) / 1000
}
