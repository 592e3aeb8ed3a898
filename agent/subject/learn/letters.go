package learn

import (
	"maps"
	"math"
	"slices"
	"strings"

	"molar/agent/subject"
)

// Letters makes the table of the letter runs of English, from the English ones of labelled lines.
func Letters(lines []subject.Line) []byte {
	words := make(map[string]int)
	for _, l := range lines {
		if l.Lang != subject.English {
			continue
		}
		for word := range strings.FieldsFuncSeq(strings.ToLower(strings.ReplaceAll(l.Text, "'", "")), notLatin) {
			words[word]++
		}
	}
	return letters(words)
}

func notLatin(r rune) bool { return r < 'a' || r > 'z' }

// unseen is the weight of a run of letters that occurs in no word.
const unseen = 0.2

// letters returns for each run of three letters how unlikely the last one is after the other two. A
// frequent word counts more, but only a little.
func letters(words map[string]int) []byte {
	runs, heads := make([]float64, subject.Runs), make([]float64, subject.Runs/subject.Letters)
	for _, word := range slices.Sorted(maps.Keys(words)) {
		for run := range subject.RunsOf(word) {
			weight := 1 + math.Log(float64(words[word]))
			runs[run] += weight
			heads[run/subject.Letters] += weight
		}
	}
	out := make([]byte, subject.Runs)
	for run, n := range runs {
		bits := -math.Log2((n + unseen) / (heads[run/subject.Letters] + unseen*subject.Letters))
		out[run] = byte(math.Round(min(bits*subject.PerBit, math.MaxUint8)))
	}
	return out
}
