package guardrail

import (
	"slices"
	"unicode"
)

// A generator gives small random numbers, the same every time, so that training
// does too.
type generator struct{ state uint64 }

func newGenerator(start uint64) *generator { return &generator{start * 0x9E3779B97F4A7C15} }

// below returns a number from 0 to n-1.
func (g *generator) below(n int) int {
	g.state ^= g.state << 13
	g.state ^= g.state >> 7
	g.state ^= g.state << 17
	return int(g.state >> 33 % uint64(n))
}

func (g *generator) shuffle(s []sample) {
	for i := len(s) - 1; i > 0; i-- {
		j := g.below(i + 1)
		s[i], s[j] = s[j], s[i]
	}
}

// mistype makes one typing mistake for about every eight words: a letter left out,
// doubled, or swapped with its neighbour.
func (g *generator) mistype(text string) string {
	runes := []rune(text)
	for range 1 + len(runes)/40 {
		i := g.below(max(len(runes)-1, 1))
		if i+1 >= len(runes) || !unicode.IsLetter(runes[i]) || !unicode.IsLetter(runes[i+1]) {
			continue
		}
		switch g.below(3) {
		case 0:
			runes = slices.Delete(runes, i, i+1)
		case 1:
			runes = slices.Insert(runes, i, runes[i])
		default:
			runes[i], runes[i+1] = runes[i+1], runes[i]
		}
	}
	return string(runes)
}
