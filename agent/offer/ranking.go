package offer

import (
	"cmp"
	"math"
	"slices"

	"molar/schemas"
)

// Of indexes tools once and ranks them for any number of questions, best first. A score of 0 means
// that no word matches; equal scores keep the order of the tools.
func Of(tools []schemas.ToolInfo) func(question string) []Ranked { return Ranking()(tools) }

// Ranking returns a [Ranker] that ranks as [Of] does and reads each tool once: when a server comes or
// goes, most tools stay the same.
func Ranking() Ranker {
	r := &reader{}
	return func(tools []schemas.ToolInfo) func(question string) []Ranked {
		x := newWordIndex(r.read(tools))
		return func(question string) []Ranked {
			scores := x.scores(x.thesaurus.read(question))
			ranked := make([]Ranked, 0, len(tools))
			for i, t := range tools {
				if scores[i] > 0 {
					ranked = append(ranked, Ranked{Name: t.Name, Score: scores[i]})
				}
			}
			slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
			for i, t := range tools {
				if scores[i] <= 0 {
					ranked = append(ranked, Ranked{Name: t.Name})
				}
			}
			return ranked
		}
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

// A wordIndex finds tools by their words.
type wordIndex struct {
	thesaurus *thesaurus
	tools     int
	words     map[string]*word
}

// A word is where a word is found, and how much that says.
type word struct {
	rarity float64
	places []place
}

// A place is a tool and the weight of a word in it.
type place struct {
	tool  int
	about float64
}

func newWordIndex(tools []reading) wordIndex {
	x := wordIndex{thesaurus: words(), tools: len(tools), words: map[string]*word{}}
	var usual [fields]float64
	for _, t := range tools {
		for f, stems := range t {
			usual[f] += float64(len(stems)) / float64(len(tools))
		}
	}
	for i, t := range tools {
		for f, stems := range t {
			length := 1 - shortness + shortness*float64(len(stems))/max(usual[f], 1)
			for _, stem := range stems {
				x.add(stem, i, weights()[f]/length)
			}
		}
	}
	for _, w := range x.words {
		n := float64(len(w.places))
		w.rarity = math.Log1p((float64(len(tools)) - n + 0.5) / (n + 0.5))
	}
	return x
}

// add adds to the weight of a word in a tool, which is the last one or a new one.
func (x *wordIndex) add(stem string, tool int, weight float64) {
	w := x.words[stem]
	if w == nil {
		w = &word{}
		x.words[stem] = w
	}
	if last := len(w.places) - 1; last >= 0 && w.places[last].tool == tool {
		w.places[last].about += weight
	} else {
		w.places = append(w.places, place{tool, weight})
	}
}

// scores sums for each tool, over the wanted things, the score of the best word for it.
func (x *wordIndex) scores(wanted []want) []float64 {
	sums, best := make([]float64, x.tools), make([]float64, x.tools)
	for _, w := range wanted {
		clear(best)
		for _, name := range w {
			found := x.words[name.stem]
			if found == nil {
				continue
			}
			for _, p := range found.places {
				best[p.tool] = max(best[p.tool], name.weight*found.rarity*p.about/(p.about+saturation))
			}
		}
		for i := range sums {
			sums[i] += best[i]
		}
	}
	for i := range sums {
		sums[i] = math.Round(sums[i]*1000) / 1000
	}
	return sums
}
