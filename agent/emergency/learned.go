package emergency

import (
	"encoding/binary"
	"math"
	"strconv"

	"molar/agent/linear"
	"molar/internal/text"
)

const (
	// tableBits is the size of each table: 16 KiB.
	tableBits = 15
	// clearly is how much more than enough a score has to be of a message that seems to be about
	// another subject.
	clearly = 1.5
)

// What each family of features counts.
const (
	runShare  = 1
	wordShare = 1.2
	signShare = 1.0
	cueShare  = 0.5
	bias      = 1
)

// A learned classifier finds what no phrase does: whether a message describes an emergency,
// and of which kind.
type learned struct {
	// enough is the score from which on a message describes an emergency.
	enough float64
	any    linear.Table
	kinds  []linear.Table // as the topic has them
}

// kind returns the kind that a message describes, and whether it describes one: with a score
// that is more than enough by margin.
func (l learned) kind(fs []linear.Feature, margin float64) (int, bool) {
	if l.any.Score(fs) < l.enough+margin {
		return 0, false
	}
	best := 0
	scores := make([]float64, len(l.kinds))
	for i, table := range l.kinds {
		if scores[i] = table.Score(fs); scores[i] > scores[best] {
			best = i
		}
	}
	return best, true
}

// readLearned reads what [Train] wrote: the score that is enough, and for each table its largest weight and its cells. It
// returns nil for what was trained for other kinds, or not at all.
func readLearned(data string, kinds int) *learned {
	const cells = 1 << (tableBits - 1)
	if len(data) != 4+(kinds+1)*(4+cells) {
		return nil
	}
	number := func(at int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32([]byte(data[at : at+4]))) }
	var tables []linear.Table
	for at := 4; at < len(data); at += 4 + cells {
		tables = append(tables, linear.Table{Bits: tableBits, Scale: number(at), Cells: data[at+4 : at+4+cells]})
	}
	return &learned{float64(number(0)), tables[0], tables[1:]}
}

// features are the character runs and words of a message, its numbers by size, the signs
// that stand in it, and how it speaks of them.
func (d *Detector) features(words []text.Word, meant []bool) []linear.Feature {
	fs := []linear.Feature{{Hash: linear.Hash("bias", "", ""), Value: bias}}
	fs = linear.AppendRuns(fs, words, runShare)
	fs = linear.AppendWords(fs, "w", words, wordShare)
	for i, w := range words {
		if size := sizeOf(w.Raw); size != "" {
			fs = append(fs, linear.Feature{Hash: linear.Hash("number", size, ""), Value: cueShare})
			if i+1 < len(words) {
				fs = append(fs, linear.Feature{Hash: linear.Hash("number", size, words[i+1].Folded), Value: cueShare})
			}
		}
	}
	for n, s := range d.signs {
		if meant[n] {
			fs = append(fs, linear.Feature{Hash: linear.Hash("sign", "meant", s.name), Value: signShare})
		} else if s.phrases.In(words) {
			fs = append(fs, linear.Feature{Hash: linear.Hash("sign", "named", s.name), Value: signShare})
		}
	}
	for _, name := range []string{"past", "supposed", "general", "present", "person", "over", "denial"} {
		if d.cues[name].In(words) {
			fs = append(fs, linear.Feature{Hash: linear.Hash("cue", name, ""), Value: cueShare})
		}
	}
	return fs
}

// sizeOf says what a number may be: a few, a dose that is too much, a fever, a year.
func sizeOf(word string) string {
	n, err := strconv.Atoi(word)
	switch {
	case err != nil:
		return ""
	case n < 8:
		return "few"
	case n < 38, n > 42 && n < 100:
		return "many"
	case n <= 42, n < 106:
		return "degrees"
	case n > 1900 && n < 2100:
		return "year"
	}
	return "large"
}
