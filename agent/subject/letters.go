package subject

import (
	_ "embed"
	"iter"
)

// A run is three letters behind one another, as a number.
const (
	// Letters are those of the English alphabet, and the border of a word.
	Letters = 27
	// Runs is how many runs there are.
	Runs = Letters * Letters * Letters
	// PerBit is what a bit counts in the table.
	PerBit = 16
)

// letters says for each run how unlikely its last letter is in English, behind the others.
//
//go:embed english.letters
var letters string

// RunsOf yields the runs of a word in lower case, its borders among them. What is no letter
// of the English alphabet is passed over.
func RunsOf(word string) iter.Seq[int] {
	return func(yield func(int) bool) {
		run := 0
		for _, r := range word {
			if r < 'a' || r > 'z' {
				continue
			}
			if run = (run*Letters + int(r-'a') + 1) % Runs; !yield(run) {
				return
			}
		}
		yield(run * Letters % Runs)
	}
}

// How many bits a letter tells to whoever expects English: about three in an English word, and
// more than four in most words of other languages.
const expected, surprising = 2.9, 5.0

// englishness is how English the letters of a folded word look, from 0 to 1.
func englishness(word string) float64 {
	n, sum := 0, 0
	for run := range RunsOf(word) {
		sum += int(letters[run])
		n++
	}
	bits := float64(sum) / float64(n*PerBit)
	return min(max((surprising-bits)/(surprising-expected), 0), 1)
}
