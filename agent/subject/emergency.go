package subject

import (
	_ "embed"
	"maps"
	"slices"

	"molar/internal/text"
)

// maxBytes is how much of a message is read, at each end: more than anyone types in an emergency.
const maxBytes = 4000

// cueWords are the cues of the language; a topic adds its own.
//
//go:embed cues.txt
var cueWords string

// A Detector finds the emergencies of one topic. It is safe for concurrent use.
type Detector struct {
	topic Topic
	signs []sign
	cues  map[string]*text.Phrases
	// learned is nil if no classifier was trained for the topic.
	learned *learned
}

// NewDetector returns the detector of a topic.
func NewDetector(t Topic) *Detector {
	e := t.Emergencies
	d := &Detector{topic: t, cues: make(map[string]*text.Phrases)}
	for _, s := range e.Signs {
		d.signs = append(d.signs, sign{
			name: s.Name, phrases: text.NewPhrases(s.Phrases), unless: text.NewPhrases(s.Unless), lasts: s.Lasts,
			describes: slices.ContainsFunc(e.Kinds, func(k Kind) bool { return slices.Contains(slices.Concat(k.Sets...), s.Name) }),
		})
	}
	for _, s := range Sections(cueWords) {
		d.cues[s.Name] = text.NewPhrases(append(s.Lines, e.Cues[s.Name]...))
	}
	d.learned = readLearned(e.Weights, len(e.Kinds))
	return d
}

// Find returns the kinds of emergency that a message describes as happening now, the most pressing
// first. earlier is the previous question, or empty: a fever in one counts together with a swelling
// in the other. Signs that are denied, supposed, asked about in general or placed in the past do
// not count.
func (d *Detector) Find(message, earlier string) []string { return d.find(message, earlier, 0) }

// FindClear is Find for a message that seems to be about another subject: the classifier needs a
// higher score.
func (d *Detector) FindClear(message, earlier string) []string {
	return d.find(message, earlier, clearly)
}

// CorrectKinds corrects the kinds of emergency that a message describes or refers to by its signs: a
// piece of a tooth in the hand is not a tooth that came out.
func (d *Detector) CorrectKinds(kinds []string, message string) []string {
	_, found := d.read(message)
	return d.meant(kinds, found)
}

func (d *Detector) meant(kinds []string, found map[string]bool) (meant []string) {
	for _, name := range kinds {
		kind, _ := d.topic.Emergencies.Kind(name)
		for _, sign := range slices.Sorted(maps.Keys(kind.Instead)) {
			if found[sign] {
				name = kind.Instead[sign]
			}
		}
		if !slices.Contains(meant, name) {
			meant = append(meant, name)
		}
	}
	return meant
}

func (d *Detector) find(message, earlier string, margin float64) []string {
	words, found := d.read(message)
	return d.meant(d.described(words, found, earlier, margin), found)
}

// described returns the kinds of emergency whose signs a message describes. If there are none, it
// returns the kind that the classifier finds.
func (d *Detector) described(words []text.Word, found map[string]bool, earlier string, margin float64) []string {
	before := found
	if earlier != "" {
		_, before = d.read(earlier)
	}
	var kinds []string
	for _, k := range d.topic.Emergencies.Kinds { // a kind is present when all signs of one of its sets are
		if slices.ContainsFunc(k.Sets, func(set []string) bool { return isThere(set, found, before) }) {
			kinds = append(kinds, k.Name)
		}
	}
	if d.learned == nil {
		return kinds
	}
	if len(words) <= terse {
		margin = max(margin, tersely)
	}
	fs := d.features(words, found)
	switch score := d.learned.any.Score(fs); {
	case len(kinds) == 0 && score >= enough+margin:
		return []string{d.topic.Emergencies.Kinds[d.learned.likeliest(fs)].Name}
	case score < doubtful && earlier == "" && len(words) <= tellable: // it mentions signs as in a story, a joke or a lesson
		return nil
	}
	return kinds
}

// isThere reports whether every sign of a set was described, at least one of them in this message.
func isThere(set []string, found, before map[string]bool) bool {
	now := false
	for _, s := range set {
		if !found[s] && !before[s] {
			return false
		}
		now = now || found[s]
	}
	return now
}
