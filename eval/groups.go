package eval

import (
	"fmt"
	"strings"

	"molar/eval/match"
	"molar/eval/tape"
)

// A Group is one cause of drift, or one reason why cases are invalid, with all its cases.
type Group struct {
	Cases []string `json:"cases"`
	// Causes are the drifts of the first case, with their full texts.
	Causes []FullDrift `json:"causes,omitempty"`
	// Invalid is the reason why the cases are invalid, or "" for drift.
	Invalid string `json:"invalid,omitempty"`
}

// A FullDrift is a drift with both sides uncut.
type FullDrift struct {
	tape.Drift
	Was string `json:"was,omitempty"`
	Now string `json:"now,omitempty"`
}

// group groups the cases that drifted because of the same change, wherever it occurred, and the
// cases that are invalid for the same reason, such as their config.
func group(results []CaseResult) []Group {
	var all []Group
	at := make(map[string]int)
	for _, c := range results {
		var g Group
		var key string
		switch c.Status {
		case StatusDrift:
			g.Causes, key = full(c.Drift), changeOf(c.Drift)
		case StatusInvalid:
			g.Invalid = strings.TrimPrefix(c.Why, fmt.Sprintf("%s:%d: case %q: ", c.File, c.Line, c.ID))
			key = g.Invalid
		default:
			continue
		}
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, g)
		}
		all[i].Cases = append(all[i].Cases, c.ID)
	}
	return all
}

func full(drifts []tape.Drift) []FullDrift {
	var all []FullDrift
	for _, d := range drifts {
		was, now := d.Full()
		all = append(all, FullDrift{Drift: d, Was: was, Now: now})
	}
	return all
}

// changeOf returns a key that is equal for cases with the same causes.
func changeOf(drifts []tape.Drift) string {
	var key strings.Builder
	for _, d := range drifts {
		was, now := d.Full()
		key.WriteString(d.Class + "\x00" + d.Rule + "\x00" + match.Changes(match.Words(was, now)) + "\x00")
		switch d.Class {
		case tape.Schema, tape.Description, tape.Annotation, tape.DriftOutput, tape.Config:
			key.WriteString(d.Where) // the tool, the server
		}
	}
	return key.String()
}
