package scoring

import (
	"strings"
	"time"

	"molar/agent/guardrail"
	"molar/agent/judge"
	"molar/agent/topic"
)

// Harmless is the kind of a message that describes no emergency; an empty one means the same.
const Harmless = "harmless"

// An EmergencyReport says how many emergencies a turn would find, and how often it would raise
// the alarm over a harmless message.
type EmergencyReport struct {
	Emergencies int     `json:"emergencies"`
	Found       int     `json:"found"`
	FoundShare  float64 `json:"found_share"`
	Harmless    int     `json:"harmless"`
	False       int     `json:"false"`
	FalseShare  float64 `json:"false_share"`
	// Slices are the shares that were read rightly, by kind and language.
	Slices map[string]Slice `json:"slices"`
	Wrong  []WrongEmergency `json:"wrong"`
}

// A WrongEmergency is a message that was missed, or taken for an emergency.
type WrongEmergency struct {
	Line  int      `json:"line"`
	Text  string   `json:"text"`
	Kind  string   `json:"kind"`
	Found []string `json:"found"`
}

// EvaluateEmergencies looks at every message as the beginning of a turn does.
func EvaluateEmergencies(g *guardrail.Guard, messages []topic.Example) EmergencyReport {
	name := g.Topic().Name
	look := judge.New(map[string]*guardrail.Guard{name: g}, time.Now)
	r := EmergencyReport{Slices: map[string]Slice{}, Wrong: []WrongEmergency{}}
	right := map[string]int{}
	for i, m := range messages {
		if m.Kind == "" {
			m.Kind = Harmless
		}
		kinds := judge.Names(look.Look(name, m.Text).Kinds)
		urgent, ok := m.Kind != Harmless, (m.Kind != Harmless) == (len(kinds) > 0)
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
		for slice := range strings.FieldsSeq(strings.ReplaceAll(m.Kind, " ", "-") + " " + m.Lang) {
			s := r.Slices[slice]
			s.N++
			r.Slices[slice] = s
			if ok {
				right[slice]++
			}
		}
		if !ok {
			r.Wrong = append(r.Wrong, WrongEmergency{Line: i + 1, Text: m.Text, Kind: m.Kind, Found: kinds})
		}
	}
	for name, s := range r.Slices {
		s.Accuracy = share(right[name], s.N)
		r.Slices[name] = s
	}
	r.FoundShare, r.FalseShare = share(r.Found, r.Emergencies), share(r.False, r.Harmless)
	return r
}
