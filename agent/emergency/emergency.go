// Package emergency recognises messages that describe a medical emergency of a
// topic, and holds the short notices that say what to do now.
//
// It works in code alone, so that a person in danger is told to call for help
// whatever becomes of the model, the search or the network. It gives no diagnosis and
// decides nothing about the answer: the agent shows the notice and goes on.
package emergency

import "slices"

// A Kind is a sort of emergency.
type Kind string

// The kinds, the most pressing first.
const (
	// Airway: trouble breathing or swallowing, or a swelling that spreads to the neck
	// or an eye.
	Airway Kind = "airway"
	// Bleeding: heavy, or not to be stopped.
	Bleeding Kind = "bleeding"
	// Injury of the jaw or the face.
	Injury Kind = "injury"
	// KnockedOut: a tooth came out of its socket by force.
	KnockedOut Kind = "knocked-out tooth"
	// Infection: swelling together with fever.
	Infection Kind = "swelling with fever"
)

// maxBytes is how much of a message is looked at, at each end: more than anyone types
// in need.
const maxBytes = 4000

// A Detector finds the emergencies of one topic. It is safe for concurrent use.
type Detector struct {
	signs    map[sign]lexicon
	excluded map[sign]lexicon
	cues     map[cue]lexicon
}

// For returns the detector of a topic, nil when the topic has no emergencies.
func For(topic string) *Detector {
	if topic != "dental" {
		return nil
	}
	return &Detector{signs: compile(dentalSigns()), excluded: compile(dentalExclusions()), cues: compile(cues())}
}

// Find returns the kinds of emergency that text describes as happening now, the most
// pressing first. earlier is the question before it, or empty: a fever that is
// mentioned now counts together with a swelling that was mentioned then. Signs that
// the text denies, supposes, asks about in general or places in the past do not count.
// A nil detector finds nothing.
func (d *Detector) Find(text, earlier string) []Kind {
	if d == nil {
		return nil
	}
	found := d.read(text)
	if !slices.Contains(slices.Collect(found.all()), true) {
		return nil
	}
	before := found
	if earlier != "" {
		before = d.read(earlier)
	}
	either := func(s sign) bool { return found[s] || before[s] }
	var kinds []Kind
	add := func(k Kind, is bool) {
		if is {
			kinds = append(kinds, k)
		}
	}
	add(Airway, found[breath] || found[swallow] || found[spread])
	add(Bleeding, found[bleed] || found[much])
	add(Injury, found[jaw])
	add(KnockedOut, found[tooth] || found[toothOut] && found[force])
	add(Infection, (found[swelling] || found[fever]) && either(swelling) && either(fever))
	return kinds
}
