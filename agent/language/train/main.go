// Command train writes the table of how letters follow one another in English, from the
// English questions that the guardrail learns. "go generate ./agent/language" runs it.
//
// It owns what the table is made of; how it is read is of package language.
package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molar/agent/subject"
	"molar/agent/subject/scoring"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

// run reads the questions, seen from the folder of package language, and writes the table.
func run(folder string) error {
	words := make(map[string]int)
	for _, name := range learned {
		examples, err := scoring.Read(filepath.Join(folder, "../guardrail/data", name+".jsonl"))
		if err != nil {
			return err
		}
		for _, e := range examples {
			if e.Lang != subject.English {
				continue
			}
			for word := range strings.FieldsFuncSeq(strings.ToLower(strings.ReplaceAll(e.Text, "'", "")), notLatin) {
				words[word]++
			}
		}
	}
	return os.WriteFile(filepath.Join(folder, "english.letters"), table(words), 0o644)
}

// learned are the files whose English lines are read. What other tests measure strangers' lines by
// is left out.
var learned = [...]string{"questions", "known", "broad", "traps", "plain", "strangers", "probe", "probe2", "probe3", "probe4", "probe5"}

func notLatin(r rune) bool { return r < 'a' || r > 'z' }

// unseen is what a run of letters counts that no word holds.
const unseen = 0.2

// table tells for each run of three letters how unlikely its last one is behind the two
// before it. A word that stands often counts more, but little more.
func table(words map[string]int) []byte {
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
