package subject

import (
	_ "embed"
	"iter"
)

// A run is three consecutive letters, as a number.
const (
	// Letters counts the English alphabet and the word border.
	Letters = 27
	// Runs is the number of runs.
	Runs = Letters * Letters * Letters
	// PerBit is the value of one bit in the table.
	PerBit = 16
)

// letters holds for each run how unlikely its last letter is in English after the others.
//
//go:embed english.letters
var letters string

// RunsOf yields the runs of a word in lower case, including its borders. It skips characters
// outside the English alphabet.
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

// The bits of surprise per letter under the English model: about three in an English word, and more
// than four in most words of other languages.
const expected, surprising = 2.9, 5.0

// englishness returns how English the letters of a folded word look, from 0 to 1.
func englishness(word string) float64 {
	n, sum := 0, 0
	for run := range RunsOf(word) {
		sum += int(letters[run])
		n++
	}
	bits := float64(sum) / float64(n*PerBit)
	return min(max((surprising-bits)/(surprising-expected), 0), 1)
}
