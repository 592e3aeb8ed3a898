package scoring

import (
	"cmp"
	"strings"

	"molar/agent/subject"
)

// harmless is the kind of a message that describes no emergency; an empty one means the same.
const harmless = "harmless"

// An EmergencyReport counts the emergencies that a turn would find, and its false alarms.
type EmergencyReport struct {
	Emergencies int     `json:"emergencies"`
	Found       int     `json:"found"`
	FoundShare  float64 `json:"found_share"`
	Harmless    int     `json:"harmless"`
	False       int     `json:"false"`
	FalseShare  float64 `json:"false_share"`
	// Named counts the found emergencies that are labelled with a kind of the topic, and Right those of
	// them whose notice is followed by what that kind is followed by.
	Named      int     `json:"named"`
	Right      int     `json:"right"`
	RightShare float64 `json:"right_share"`
	// Slices are the shares of correctly classified messages, by kind and language.
	Slices Slices           `json:"slices"`
	Wrong  []WrongEmergency `json:"wrong"`
}

// A WrongEmergency is a missed emergency, a false alarm, or one with the text of another kind.
type WrongEmergency struct {
	Line  int      `json:"line"`
	Text  string   `json:"text"`
	Kind  string   `json:"kind"`
	Found []string `json:"found"`
}

// EvaluateEmergencies reports how well find classifies messages of a topic. find returns the kinds of
// emergency in a message, as the beginning of a turn does.
func EvaluateEmergencies(t subject.Topic, find func(message string) (kinds []string), messages []subject.Example) EmergencyReport {
	r := EmergencyReport{Slices: Slices{}, Wrong: []WrongEmergency{}}
	for i, m := range messages {
		if m.Kind == "" {
			m.Kind = harmless
		}
		kinds := find(m.Text)
		urgent, ok := m.Kind != harmless, (m.Kind != harmless) == (len(kinds) > 0)
		switch {
		case urgent && ok:
			r.Found++
		case !urgent && !ok:
			r.False++
		}
		if urgent {
			r.Emergencies++
		} else {
			r.Harmless++
		}
		r.Slices.add(ok, strings.ReplaceAll(m.Kind, " ", "-"), m.Lang)
		right := true
		if _, known := t.Emergencies.Kind(m.Kind); known && urgent && ok {
			r.Named++
			if right = follows(t, kinds) == follows(t, []string{m.Kind}); right {
				r.Right++
			}
		}
		if !ok || !right {
			r.Wrong = append(r.Wrong, WrongEmergency{Line: i + 1, Text: m.Text, Kind: m.Kind, Found: append([]string{}, kinds...)})
		}
	}
	r.RightShare = share(r.Right, r.Named)
	r.FoundShare, r.FalseShare = share(r.Found, r.Emergencies), share(r.False, r.Harmless)
	return r
}

// follows returns what identifies the text behind the notice of the kinds: its passage, or the kind if
// none follows.
func follows(t subject.Topic, kinds []string) string {
	kind := subject.Deciding(t, kinds)
	return cmp.Or(kind.Passage, kind.Name)
}
