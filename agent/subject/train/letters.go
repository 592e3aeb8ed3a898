package main

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"molar/agent/subject"
)

// learnLetters makes the table of the letter runs of English.
func learnLetters(root string) ([][]byte, error) {
	words := make(map[string]int)
	for _, name := range spelled() {
		lines, err := read(filepath.Join(root, labelled, name))
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if l.Lang != subject.English {
				continue
			}
			for word := range strings.FieldsFuncSeq(strings.ToLower(strings.ReplaceAll(l.Text, "'", "")), notLatin) {
				words[word]++
			}
		}
	}
	return [][]byte{letters(words)}, nil
}

// spelled returns the files whose English lines are read. It excludes the files that tests measure
// the result on.
func spelled() []string {
	return []string{
		"questions.jsonl", "known.jsonl", "broad.jsonl", "traps.jsonl", "plain.jsonl", "strangers.jsonl",
		"probe.jsonl", "probe2.jsonl", "probe3.jsonl", "probe4.jsonl", "probe5.jsonl",
	}
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
