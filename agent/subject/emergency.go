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
	d.learned, _ = readLearned(e.Weights, len(e.Kinds)) // [Topic.Check] reports the error
	return d
}

// Find returns the kinds of emergency that a message describes as happening now: the likeliest by
// what was learned, then those whose signs it describes, the most pressing first. earlier are the
// last questions before it, the newest last: a fever in one counts together with a swelling in
// another. Signs that are denied, supposed, asked about in general or placed in the past do not
// count.
func (d *Detector) Find(message string, earlier ...string) []string {
	return d.find(message, earlier, 0)
}

// FindClear is Find for a message that seems to be about another subject: the classifier needs a
// higher score.
func (d *Detector) FindClear(message string, earlier ...string) []string {
	return d.find(message, earlier, clearly)
}

// CorrectKinds corrects the kinds of emergency that a message describes or refers to by its signs: a
// finger that is crushed is not one that is cut off.
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

// MayAdd reports whether a message describes a sign that together with what was said before may be
// an emergency.
func (d *Detector) MayAdd(message string) bool {
	_, found := d.read(message)
	for _, k := range d.topic.Emergencies.Kinds {
		for _, set := range k.Sets {
			if len(set) > 1 && slices.ContainsFunc(set, func(s string) bool { return found[s] }) {
				return true
			}
		}
	}
	return false
}

func (d *Detector) find(message string, earlier []string, margin float64) []string {
	words, found := d.read(message)
	kinds, likeliest := d.described(words, found, margin)
	for _, name := range d.added(found, earlier) {
		if !slices.Contains(kinds, name) {
			kinds = append(kinds, name)
		}
	}
	slices.SortFunc(kinds, func(a, b string) int { return d.topic.Emergencies.rank(a) - d.topic.Emergencies.rank(b) })
	if i := slices.Index(kinds, likeliest); i > 0 {
		kinds = slices.Insert(slices.Delete(kinds, i, i+1), 0, likeliest)
	}
	return d.meant(kinds, found)
}

// described returns the kinds of emergency whose signs a message describes, and with them the
// likeliest kind, if the classifier finds an emergency: it has read the signs too.
func (d *Detector) described(words []text.Word, found map[string]bool, margin float64) (kinds []string, likeliest string) {
	kinds = d.whose(func(set []string) bool { return isThere(set, found) })
	if d.learned == nil {
		return kinds, ""
	}
	fs := d.features(words, found)
	score := d.learned.any.Score(fs)
	switch {
	case len(kinds) > 0 && score < doubtful && len(words) <= tellable: // a story, a joke or a lesson that mentions signs
		return nil, ""
	case len(kinds) == 0 && len(words) <= terse:
		margin = max(margin, tersely)
	case len(kinds) > 0:
		margin = 0
	}
	if score < enough+margin {
		return kinds, ""
	}
	likeliest = d.topic.Emergencies.Kinds[d.learned.likeliest(fs)].Name
	if !slices.Contains(kinds, likeliest) {
		kinds = append(kinds, likeliest)
	}
	return kinds, likeliest
}

// added returns the kinds of emergency that a message describes together with earlier ones. Behind
// the last one every sign counts; what was complete before that is not reported again.
func (d *Detector) added(found map[string]bool, earlier []string) []string {
	if len(found) == 0 || len(earlier) == 0 {
		return nil
	}
	var last map[string]bool
	all := make(map[string]bool)
	for _, message := range earlier {
		_, last = d.read(message)
		maps.Copy(all, last)
	}
	return d.whose(func(set []string) bool {
		told := slices.ContainsFunc(set, func(s string) bool { return found[s] })
		return told && !isThere(set, found) && (isThere(set, found, last) || isThere(set, found, all) && !isThere(set, all))
	})
}

// whose returns the kinds of emergency that have a set of signs for which there holds, the most
// pressing first.
func (d *Detector) whose(there func(set []string) bool) (kinds []string) {
	for _, k := range d.topic.Emergencies.Kinds {
		if slices.ContainsFunc(k.Sets, there) {
			kinds = append(kinds, k.Name)
		}
	}
	return kinds
}

// isThere reports whether every sign of a set is in one of the messages.
func isThere(set []string, messages ...map[string]bool) bool {
	return !slices.ContainsFunc(set, func(s string) bool {
		return !slices.ContainsFunc(messages, func(found map[string]bool) bool { return found[s] })
	})
}
