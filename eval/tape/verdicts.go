package tape

import (
	"strings"

	"molar/providers"
)

// verdicts remembers what a tape's judge said. A running host asks it once for a
// question; the conversation that asks the same later gets the verdict from memory, and
// has no exchange of its own for a fresh host to replay.
type verdicts struct {
	text   map[int]string      // of the question, by turn
	asked  map[int]bool        // turns with an exchange of their own
	of     map[int]string      // the question, by exchange
	told   map[string][]Record // the exchange, by question
	copied map[*Part]map[string]bool
	seq    int
}

// firstCopy keeps the numbers of copied exchanges apart from those of the tape.
const firstCopy = 1_000_000_000

func newVerdicts() *verdicts {
	return &verdicts{
		text: make(map[int]string), asked: make(map[int]bool), of: make(map[int]string),
		told: make(map[string][]Record), copied: make(map[*Part]map[string]bool), seq: firstCopy,
	}
}

// take notes a record as it stands on the tape.
func (v *verdicts) take(rec Record) {
	switch rec.Type {
	case TypeUser:
		v.text[rec.Turn] = strings.ToLower(strings.TrimSpace(rec.Text))
	case TypeModelRequest:
		if text, known := v.text[rec.Turn]; known && rec.Pass == string(providers.PassGuardrail) && !Lookup(rec.Path) {
			v.asked[rec.Turn], v.of[rec.Seq] = true, text
			v.told[text] = []Record{rec}
		}
	case TypeModelChunk, TypeModelEnd:
		if text, known := v.of[rec.Seq]; known && v.told[text][0].Seq == rec.Seq {
			v.told[text] = append(v.told[text], rec)
		}
	}
}

// remembered is the exchange that a turn with a decision may have had in memory, of no
// turn, so that a replay finds it by what it asks; nil where there is none.
func (v *verdicts) remembered(turn int, p *Part) []Record {
	text := v.text[turn]
	told := v.told[text]
	if v.asked[turn] || v.copied[p][text] || len(told) == 0 || told[len(told)-1].Type != TypeModelEnd {
		return nil
	}
	if v.copied[p] == nil {
		v.copied[p] = make(map[string]bool)
	}
	v.copied[p][text] = true
	v.seq++
	copies := make([]Record, len(told))
	for i, rec := range told {
		rec.Seq, rec.Turn = v.seq, 0
		copies[i] = rec
	}
	return copies
}
