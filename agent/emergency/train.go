package emergency

import (
	"encoding/binary"
	"math"
	"slices"

	"molar/agent/linear"
	"molar/agent/topic"
)

// decay was chosen by cross-validation.
const decay = 2e-4

// A Lesson is a message to learn from: the kind of emergency that it describes, empty when it
// describes none, and how much it counts.
type Lesson struct {
	Text   string
	Kind   Kind
	Weight float64
	// Group is shared by lessons that were made of one message.
	Group int
	// Near is set for a harmless message that speaks of what emergencies speak of.
	Near bool
}

// Train learns the emergencies of a topic and returns them in the form that
// [topic.Emergencies.Weights] takes. The same lessons give the same bytes on the same
// architecture.
func Train(t topic.Topic, lessons []Lesson) string {
	t.Emergencies.Weights = ""
	d := New(t)
	features := make([][]linear.Feature, len(lessons))
	for i, l := range lessons {
		features[i] = d.features(d.read(l.Text))
	}
	learn := func(is, about func(Lesson) bool) linear.Table {
		var all []linear.Sample
		for i, l := range lessons {
			if about(l) {
				all = append(all, linear.Sample{Features: features[i], In: is(l), Weight: l.Weight})
			}
		}
		return linear.Fit(all, tableBits, decay)
	}
	isOne := func(l Lesson) bool { return l.Kind != "" }
	var near []float64 // the scores of harmless messages that were not learned
	for half := range 2 {
		table := learn(isOne, func(l Lesson) bool { return l.Group%2 == half })
		for i, l := range lessons {
			if l.Near && l.Group%2 != half {
				near = append(near, table.Score(features[i]))
			}
		}
	}
	out := binary.LittleEndian.AppendUint32(nil, math.Float32bits(quantile(near)))
	out = appendTable(out, learn(isOne, func(Lesson) bool { return true }))
	for _, k := range d.kinds { // which of them, once it is known to be one
		out = appendTable(out, learn(func(l Lesson) bool { return l.Kind == k.name }, isOne))
	}
	return string(out)
}

// falseAlarms is the share of harmless messages near an emergency that may be taken for one.
const falseAlarms = 0.03

// quantile returns the score that so many of them are above.
func quantile(scores []float64) float32 {
	if len(scores) == 0 {
		return 0
	}
	slices.Sort(scores)
	return float32(scores[len(scores)-1-int(falseAlarms*float64(len(scores)))])
}

func appendTable(out []byte, t linear.Table) []byte {
	return append(binary.LittleEndian.AppendUint32(out, math.Float32bits(t.Scale)), t.Cells...)
}
