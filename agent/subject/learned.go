package subject

import (
	"math"
	"strconv"

	"molar/internal/text"
)

const (
	// anyBits is the size of the table that detects emergencies, kindBits that of each kind's
	// table: 512 and 16 KiB.
	anyBits, kindBits = 20, 15
	// enough is the least score of an emergency, and below doubtful not even signs make one. Both
	// were chosen by cross-validation over writers, and so that the test messages are classified
	// correctly.
	enough, doubtful = 0, -2.2
	// tellable is the length of the longest message, in words, whose score can overrule its signs.
	tellable = 60
	// clearly is the margin above enough that a message needs if it seems to be about another
	// subject.
	clearly = 0.4
	// Messages of up to terse words have little to classify by, so without a sign they must score
	// tersely more: "My jaw hurts" is not an emergency.
	terse, tersely = 4, 2.5
)

// The weights of the feature families.
const (
	alarmRunShare  = 1
	alarmWordShare = 1.2
	skipShare      = 0.5
	signShare      = 0.3
	cueShare       = 0.5
	alarmBias      = 1
)

// A learned classifier finds emergencies that no phrase covers, and their kind.
type learned struct {
	any   Table
	kinds []Table // in the topic's order
}

// likeliest returns the kind that a message most likely describes, if it describes one.
func (l learned) likeliest(fs []feature) int {
	best, most := 0, math.Inf(-1)
	for i, table := range l.kinds {
		if score := table.Score(fs); score > most {
			best, most = i, score
		}
	}
	return best
}

// readLearned decodes the result of [TrainAlarms]: for each table its largest weight and its cells.
// It returns nil if data is empty or was trained for another number of kinds.
func readLearned(data string, kinds int) *learned {
	if len(data) != size(anyBits)+kinds*size(kindBits) {
		return nil
	}
	l := &learned{kinds: make([]Table, kinds)}
	l.any, data = readTable(data, anyBits)
	for i := range l.kinds {
		l.kinds[i], data = readTable(data, kindBits)
	}
	return l
}

// features returns the features of a message: character runs, words, near pairs, numbers by size,
// signs, and the cues of how it speaks of them.
func (d *Detector) features(words []text.Word, meant map[string]bool) []feature {
	fs := []feature{{Hash: hash("bias", "", ""), Value: alarmBias}}
	fs = appendRuns(fs, words, alarmRunShare)
	fs = appendWords(fs, "w", words, alarmWordShare)
	fs = appendNear(fs, "near", words, skipShare)
	for i, w := range words {
		if size := sizeOf(w.Raw); size != "" {
			fs = append(fs, feature{Hash: hash("number", size, ""), Value: cueShare})
			if i+1 < len(words) {
				fs = append(fs, feature{Hash: hash("number", size, words[i+1].Folded), Value: cueShare})
			}
		}
	}
	for _, s := range d.signs {
		if !s.describes { // it was not in the training
			continue
		}
		if meant[s.name] {
			fs = append(fs, feature{Hash: hash("sign", "meant", s.name), Value: signShare})
		} else if s.phrases.In(words) {
			fs = append(fs, feature{Hash: hash("sign", "named", s.name), Value: signShare})
		}
	}
	for _, name := range manners() {
		if cue := d.cues[name]; cue != nil && cue.In(words) {
			fs = append(fs, feature{Hash: hash("cue", name, ""), Value: cueShare})
		}
	}
	return fs
}

// manners returns the cues of how a message speaks of the things that it names.
func manners() []string {
	return []string{
		"past", "supposed", "general", "present", "person", "over", "denial", "story", "laugh", "study",
		"mild", "fine", "ahead", "long ago", "grave", "act", "lately",
	}
}

// sizeOf classifies a number: a few, an overdose, a fever, a year.
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

// Training parameters, chosen by cross-validation.
const (
	alarmDecay  = 2e-4
	alarmEpochs = 12
)

// An AlarmLesson is a training message: the kind of emergency that it describes, empty for none,
// and its weight.
type AlarmLesson struct {
	Text   string
	Kind   string
	Weight float64
}

// TrainAlarms trains the emergency classifier of a topic and returns it in the form that
// [Emergencies.Weights] takes. The same lessons give the same bytes on the same architecture.
func TrainAlarms(t Topic, lessons []AlarmLesson) string {
	t.Emergencies.Weights = ""
	d := NewDetector(t)
	features := make([][]feature, len(lessons))
	for i, l := range lessons {
		features[i] = d.features(d.read(l.Text))
	}
	learn := func(bits int, is, about func(AlarmLesson) bool) Table {
		var all []sample
		for i, l := range lessons {
			if about(l) {
				all = append(all, sample{Features: features[i], In: is(l), Weight: l.Weight})
			}
		}
		return fit(all, bits, alarmEpochs, alarmDecay)
	}
	isOne := func(l AlarmLesson) bool { return l.Kind != "" }
	out := learn(anyBits, isOne, func(AlarmLesson) bool { return true }).Append(nil)
	for _, k := range d.topic.Emergencies.Kinds { // the kind, given that it is an emergency
		out = learn(kindBits, func(l AlarmLesson) bool { return l.Kind == k.Name }, isOne).Append(out)
	}
	return string(out)
}
