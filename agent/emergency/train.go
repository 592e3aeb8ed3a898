package emergency

import (
	"molar/agent/linear"
	"molar/agent/topic"
)

// Numbers of the training, chosen by cross-validation.
const (
	decay  = 2e-4
	epochs = 12
)

// A Lesson is a message to learn from: the kind of emergency that it describes, empty when it
// describes none, and how much it counts.
type Lesson struct {
	Text   string
	Kind   string
	Weight float64
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
	learn := func(bits int, is, about func(Lesson) bool) linear.Table {
		var all []linear.Sample
		for i, l := range lessons {
			if about(l) {
				all = append(all, linear.Sample{Features: features[i], In: is(l), Weight: l.Weight})
			}
		}
		return linear.Fit(all, bits, epochs, decay)
	}
	isOne := func(l Lesson) bool { return l.Kind != "" }
	out := learn(anyBits, isOne, func(Lesson) bool { return true }).Append(nil)
	for _, k := range d.kinds { // which of them, once it is known to be one
		out = learn(kindBits, func(l Lesson) bool { return l.Kind == k.name }, isOne).Append(out)
	}
	return string(out)
}
