package linear

import (
	"math/rand/v2"
	"slices"
	"unicode"
)

// Mistype makes one typing mistake for about every eight words: a letter left out,
// doubled, or swapped with its neighbour. Classifiers learn from what it makes.
func Mistype(chance *rand.Rand, message string) string {
	runes := []rune(message)
	for range 1 + len(runes)/40 {
		i := chance.IntN(max(len(runes)-1, 1))
		if i+1 >= len(runes) || !unicode.IsLetter(runes[i]) || !unicode.IsLetter(runes[i+1]) {
			continue
		}
		switch chance.IntN(3) {
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
