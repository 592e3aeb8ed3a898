package guardrail

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"molar/agent/linear"
)

// A model is a trained classifier: its table, the scores from which on code is sure, and the
// words that examples of the topic used.
type model struct {
	linear.Table
	// sureIn admits a message alone, sureAfter one that leans on an exchange; a message is
	// refused when it scores below sureOut in both readings.
	sureIn, sureAfter, sureOut float32
	known                      bitSet
	// answers tells whether a part of an answer keeps to the topic; it has no bits where
	// nothing was learned of answers.
	answers linear.Table
}

// A vocabulary is the set of words and pairs of words that examples of the topic used. It
// is a bit for each hash: a stranger is taken for known in few cases.
type vocabulary interface {
	holds(hash uint32) bool
	size() int // zero when nothing is known of any word
}

// A bitSet is a vocabulary as it is stored.
type bitSet string

const (
	vocabularyBits  = 18
	vocabularyBytes = 1 << vocabularyBits / 8
)

func (v bitSet) size() int { return len(v) }

func (v bitSet) holds(hash uint32) bool {
	at := linear.Bucket(hash, vocabularyBits)
	return v[at>>3]&(1<<(at&7)) != 0
}

// The encoded form is the magic, the bits, five numbers, the table, the vocabulary and the table
// of answers.
const (
	modelMagic  = "MGW6"
	modelHeader = len(modelMagic) + 4 + 5*4
	answerBytes = 1 << (answerBits - 1)
)

func (m *model) encode() string {
	out := binary.LittleEndian.AppendUint32([]byte(modelMagic), uint32(m.Bits)) //nolint:gosec // at most 24
	for _, f := range []float32{m.Scale, m.sureIn, m.sureAfter, m.sureOut, m.answers.Scale} {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	return string(out) + m.Cells + string(m.known) + m.answers.Cells
}

// decode reads what encode wrote. It looks at the header alone, so that no page of the
// table is touched before the first question.
func decode(data string) (*model, error) {
	if len(data) < modelHeader || data[:len(modelMagic)] != modelMagic {
		return nil, fmt.Errorf("weights of %d bytes are not of the expected form: train them again", len(data))
	}
	field := func(i int) uint32 {
		at := len(modelMagic) + 4*i
		return binary.LittleEndian.Uint32([]byte(data[at : at+4]))
	}
	number := func(i int) float32 { return math.Float32frombits(field(i)) }
	m := &model{Table: linear.Table{Bits: int(field(0)), Scale: number(1)}, sureIn: number(2), sureAfter: number(3), sureOut: number(4)}
	if m.Bits < 1 || m.Bits > 24 || len(data) != modelHeader+1<<(m.Bits-1)+vocabularyBytes+answerBytes {
		return nil, fmt.Errorf("weights of %d bytes are not of the expected form: train them again", len(data))
	}
	split, last := len(data)-vocabularyBytes-answerBytes, len(data)-answerBytes
	m.Cells, m.known = data[modelHeader:split], bitSet(data[split:last])
	m.answers = linear.Table{Bits: answerBits, Scale: number(5), Cells: data[last:]}
	if !(m.Scale > 0 && m.sureIn >= 0 && m.sureAfter >= 0 && m.sureOut <= 0) {
		return nil, errors.New("weights have impossible thresholds: train them again")
	}
	return m, nil
}
