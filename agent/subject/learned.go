package subject

import (
	"math"
	"strconv"

	"molar/internal/text"
)

const (
	// anyBits is the size of the table that tells emergencies, kindBits that of each table which
	// tells their kinds: 512 and 16 KiB.
	anyBits, kindBits = 20, 15
	// enough is the score from which on a message describes an emergency, and doubtful the one
	// below which not even its signs make it one. Both were chosen by cross-validation over
	// writers, and so that the messages of the tests are read rightly.
	enough, doubtful = 0, -2.2
	// tellable is the length of the longest message, in words, of which the score says that signs
	// are not meant.
	tellable = 60
	// clearly is how much more than enough a score has to be of a message that seems to be about
	// another subject.
	clearly = 0.4
	// terse is the length in words of a message of which little is learned, so that without a
	// sign it has to score so much more: "My jaw hurts" is none.
	terse, tersely = 4, 2.5
)

// What each family of features counts.
const (
	alarmRunShare  = 1
	alarmWordShare = 1.2
	skipShare      = 0.5
	signShare      = 0.3
	cueShare       = 0.5
	alarmBias      = 1
)

// A learned classifier finds what no phrase does: whether a message describes an emergency,
// and of which kind.
type learned struct {
	any   Table
	kinds []Table // as the topic has them
}

// likeliest returns the kind that a message most likely describes, if it describes one.
func (l learned) likeliest(fs []Feature) int {
	best, most := 0, math.Inf(-1)
	for i, table := range l.kinds {
		if score := table.Score(fs); score > most {
			best, most = i, score
		}
	}
	return best
}

// readLearned reads what [Train] wrote: for each table its largest weight and its cells. It
// returns nil for what was trained for other kinds, or not at all.
func readLearned(data string, kinds int) *learned {
	if len(data) != Size(anyBits)+kinds*Size(kindBits) {
		return nil
	}
	l := &learned{kinds: make([]Table, kinds)}
	l.any, data = Read(data, anyBits)
	for i := range l.kinds {
		l.kinds[i], data = Read(data, kindBits)
	}
	return l
}

// features are the character runs and words of a message, pairs of near ones, its numbers by size, the signs
// that stand in it, and how it speaks of them.
func (d *Detector) features(words []text.Word, meant map[string]bool) []Feature {
	fs := []Feature{{Hash: Hash("bias", "", ""), Value: alarmBias}}
	fs = AppendRuns(fs, words, alarmRunShare)
	fs = AppendWords(fs, "w", words, alarmWordShare)
	fs = AppendNear(fs, "near", words, skipShare)
	for i, w := range words {
		if size := sizeOf(w.Raw); size != "" {
			fs = append(fs, Feature{Hash: Hash("number", size, ""), Value: cueShare})
			if i+1 < len(words) {
				fs = append(fs, Feature{Hash: Hash("number", size, words[i+1].Folded), Value: cueShare})
			}
		}
	}
	for _, s := range d.signs {
		if !s.describes { // nothing was learned of it
			continue
		}
		if meant[s.name] {
			fs = append(fs, Feature{Hash: Hash("sign", "meant", s.name), Value: signShare})
		} else if s.phrases.In(words) {
			fs = append(fs, Feature{Hash: Hash("sign", "named", s.name), Value: signShare})
		}
	}
	for _, name := range manners() {
		if cue := d.cues[name]; cue != nil && cue.In(words) {
			fs = append(fs, Feature{Hash: Hash("cue", name, ""), Value: cueShare})
		}
	}
	return fs
}

// manners are the cues that tell how a message speaks of what it names.
func manners() []string {
	return []string{
		"past", "supposed", "general", "present", "person", "over", "denial", "story", "laugh", "study",
		"mild", "fine", "ahead", "long ago", "grave", "act", "lately",
	}
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

// Numbers of the training, chosen by cross-validation.
const (
	alarmDecay  = 2e-4
	alarmEpochs = 12
)

// A AlarmLesson is a message to learn from: the kind of emergency that it describes, empty when it
// describes none, and how much it counts.
type AlarmLesson struct {
	Text   string
	Kind   string
	Weight float64
}

// TrainAlarms learns the emergencies of a topic and returns them in the form that
// [Emergencies.Weights] takes. The same lessons give the same bytes on the same
// architecture.
func TrainAlarms(t Topic, lessons []AlarmLesson) string {
	t.Emergencies.Weights = ""
	d := NewDetector(t)
	features := make([][]Feature, len(lessons))
	for i, l := range lessons {
		features[i] = d.features(d.read(l.Text))
	}
	learn := func(bits int, is, about func(AlarmLesson) bool) Table {
		var all []Sample
		for i, l := range lessons {
			if about(l) {
				all = append(all, Sample{Features: features[i], In: is(l), Weight: l.Weight})
			}
		}
		return Fit(all, bits, alarmEpochs, alarmDecay)
	}
	isOne := func(l AlarmLesson) bool { return l.Kind != "" }
	out := learn(anyBits, isOne, func(AlarmLesson) bool { return true }).Append(nil)
	for _, k := range d.topic.Emergencies.Kinds { // which of them, once it is known to be one
		out = learn(kindBits, func(l AlarmLesson) bool { return l.Kind == k.Name }, isOne).Append(out)
	}
	return string(out)
}
