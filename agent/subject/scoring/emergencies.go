package scoring

import (
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
	// Slices are the shares of correctly classified messages, by kind and language.
	Slices Slices           `json:"slices"`
	Wrong  []WrongEmergency `json:"wrong"`
}

// A WrongEmergency is a missed emergency, or a false alarm.
type WrongEmergency struct {
	Line  int      `json:"line"`
	Text  string   `json:"text"`
	Kind  string   `json:"kind"`
	Found []string `json:"found"`
}

// EvaluateEmergencies reports how well find classifies messages. find returns the kinds of emergency
// in a message, as the beginning of a turn does.
func EvaluateEmergencies(find func(message string) (kinds []string), messages []subject.Example) EmergencyReport {
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
		if !ok {
			r.Wrong = append(r.Wrong, WrongEmergency{Line: i + 1, Text: m.Text, Kind: m.Kind, Found: append([]string{}, kinds...)})
		}
	}
	r.FoundShare, r.FalseShare = share(r.Found, r.Emergencies), share(r.False, r.Harmless)
	return r
}
