package guardrail

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// weights are a trained classifier: one small integer for each bucket, and the
// scores from which on code is sure.
type weights struct {
	scale float32 // what one unit of a weight is worth
	// sureIn admits a message alone, sureAfter one that follows an exchange; a message
	// is refused when it scores below sureOut in both readings.
	sureIn, sureAfter, sureOut float32
	// Strings, so that embedded ones are not copied.
	table string // tableSize signed bytes
	vocabulary
}

// score sums the weights of the features: above zero in favour of the topic.
func (w *weights) score(fs []feature) float64 {
	var sum float64
	for _, f := range fs {
		sum += float64(float32(int8(w.table[f.bucket])) * f.value)
	}
	return sum * float64(w.scale)
}

// The encoded form is the magic, four numbers, the table and the vocabulary.
const (
	weightsMagic  = "MGW3"
	weightsHeader = len(weightsMagic) + 4*4
)

func (w *weights) encode() string {
	out := []byte(weightsMagic)
	for _, f := range []float32{w.scale, w.sureIn, w.sureAfter, w.sureOut} {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	return string(out) + w.table + string(w.vocabulary)
}

// decodeWeights reads what encode wrote.
func decodeWeights(data string) (*weights, error) {
	if len(data) != weightsHeader+tableSize+vocabularyBytes || data[:len(weightsMagic)] != weightsMagic {
		return nil, fmt.Errorf("weights of %d bytes are not of the expected form: train them again", len(data))
	}
	number := func(i int) float32 {
		at := len(weightsMagic) + 4*i
		return math.Float32frombits(binary.LittleEndian.Uint32([]byte(data[at : at+4])))
	}
	w := &weights{scale: number(0), sureIn: number(1), sureAfter: number(2), sureOut: number(3), table: data[weightsHeader:][:tableSize], vocabulary: vocabulary(data[weightsHeader+tableSize:])}
	if !(w.scale > 0 && w.sureIn >= 0 && w.sureAfter >= 0 && w.sureOut <= 0) {
		return nil, errors.New("weights have impossible thresholds: train them again")
	}
	return w, nil
}
