package main

import (
	_ "embed"
	"math/rand/v2"
	"slices"
	"strings"

	"molar/agent/subject"
)

// asComplaint is what a made complaint counts, of which there are so many.
const asComplaint = 0.2

//go:embed data/patterns.vi.txt
var vietnamesePatterns string

//go:embed data/patterns.en.txt
var englishPatterns string

// patterns are what messages of a language are made of.
type patterns struct {
	// frames say of an emergency, at the star, that it is none: long past, supposed, or a story.
	frames []string
	// orders are those of the plainest complaints, each a list of choices for each place.
	orders [][][]string
}

func patternsOf(lang string) (p patterns) {
	text := englishPatterns
	if lang == subject.Vietnamese {
		text = vietnamesePatterns
	}
	choices := make(map[string][]string)
	for _, s := range subject.Sections(text) {
		switch s.Name {
		case "frames":
			p.frames = s.Lines
		case "orders":
			for _, line := range s.Lines {
				var places [][]string
				for part := range strings.SplitSeq(line, " + ") {
					places = append(places, choices[part])
				}
				p.orders = append(p.orders, places)
			}
		default:
			choices[s.Name] = strings.Split(strings.ReplaceAll(s.Text, "-", ""), " | ")
		}
	}
	return p
}

// complain makes the plainest messages that a clinic gets: who has what pain, where, and how much,
// and who is on the way. None of them is an emergency, and writers who are asked for messages leave
// them out. Every choice for the last place meets every one for the place before it once.
func complain(chance *rand.Rand, lang string) []line {
	var out []line
	for _, places := range patternsOf(lang).orders {
		last, next := places[len(places)-1], places[len(places)-2]
		for i := range len(last) * len(next) {
			words := []string{next[i%len(next)], last[i/len(next)]}
			for _, choices := range slices.Backward(places[:len(places)-2]) {
				words = append([]string{choices[chance.IntN(len(choices))]}, words...)
			}
			out = append(out, line{text: strings.Join(strings.Fields(strings.Join(words, " ")), " "), lang: lang})
		}
	}
	return out
}
