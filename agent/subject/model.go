package subject

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"molar/internal/text"
)

// A model is a trained classifier: its table and the thresholds of sure decisions.
type model struct {
	Table
	Sure
	// answers classifies whether a part of an answer keeps to the topic; without training on
	// answers it has no bits.
	answers Table
	// followUps is set if follow-ups were in the training.
	followUps bool
}

// Sure holds the thresholds of sure decisions: In admits a message alone, and a score below Out in
// both readings refuses it. From After on a message clearly follows an exchange on the topic, if no
// judge answers.
type Sure struct{ In, After, Out float32 }

// The encoded form is the magic, the bits, five numbers, the table and the table of answers.
const (
	modelMagic  = "MGW7"
	modelHeader = len(modelMagic) + 4 + 5*4
	answerBytes = 1 << (answerBits - 1)
)

func (m *model) encode() string {
	out := binary.LittleEndian.AppendUint32([]byte(modelMagic), uint32(m.Bits)) //nolint:gosec // at most 24
	for _, f := range []float32{m.Scale, m.In, m.After, m.Out, m.answers.Scale} {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	return string(out) + m.Cells + m.answers.Cells
}

// decode reads the result of encode. It reads only the header, so that no page of the table is
// touched before the first question.
func decode(data string) (*model, error) {
	if len(data) < modelHeader || data[:len(modelMagic)] != modelMagic {
		return nil, fmt.Errorf("weights of %d bytes are not of the expected form: train them again", len(data))
	}
	field := func(i int) uint32 {
		at := len(modelMagic) + 4*i
		return binary.LittleEndian.Uint32([]byte(data[at : at+4]))
	}
	number := func(i int) float32 { return math.Float32frombits(field(i)) }
	m := &model{Table: Table{Bits: int(field(0)), Scale: number(1)}, Sure: Sure{number(2), number(3), number(4)}, followUps: true}
	if m.Bits < 1 || m.Bits > 24 || len(data) != modelHeader+1<<(m.Bits-1)+answerBytes {
		return nil, fmt.Errorf("weights of %d bytes are not of the expected form: train them again", len(data))
	}
	last := len(data) - answerBytes
	m.Cells, m.answers = data[modelHeader:last], Table{Bits: answerBits, Scale: number(5), Cells: data[last:]}
	if !(m.Scale > 0 && m.In >= 0 && m.After >= 0 && m.Out <= 0) {
		return nil, errors.New("weights have impossible thresholds: train them again")
	}
	return m, nil
}

// The weights of the feature families in a message of any length.
const (
	runShare  = 1
	wordShare = 1.2
	endShare  = 0.7
	bias      = 1
)

// plain returns the character runs, words and pairs of words of a text.
func plain(words []text.Word) []feature {
	fs := make([]feature, 0, 40*len(words))
	fs = append(fs, feature{Hash: hash("bias", "", ""), Value: bias})
	fs = appendRuns(fs, words, runShare)
	return appendWords(fs, "w", words, wordShare)
}

// alone returns the features of a message alone: the words of its last part count twice, as people
// say there what they want.
func alone(words []text.Word) []feature {
	return appendWords(plain(words), "end", lastPart(words), endShare)
}

// behind returns the features of a message after an exchange on the topic, where "how much?" has a
// meaning.
func behind(alone []feature) []feature {
	return append(alone, feature{Hash: hash("bias", "after", ""), Value: bias})
}

// The word limits of a last part, which a sentence start may shorten.
const fewestLast, mostLast = 4, 24

// lastPart returns the last sentence, with the one before it if it is very short.
func lastPart(words []text.Word) []text.Word {
	from := len(words)
	for from > 0 {
		from--
		if n := len(words) - from; n >= mostLast || n >= fewestLast && words[from].Pause == text.SentencePause {
			break
		}
	}
	return words[from:]
}
