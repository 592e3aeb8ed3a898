package subject

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Emergencies are the situations of a subject in which a person needs help at once.
type Emergencies struct {
	// Kinds, the most pressing first.
	Kinds []Kind
	Signs []Sign
	// Cues add phrases, by name, to the general ones that decide whether a sign is present now.
	Cues map[string][]string
	// Number is the emergency number; empty means 115 in Vietnam and the local number elsewhere.
	Number string
	// Weights is the classifier trained on messages of people in need; without it the signs alone
	// decide.
	Weights string
}

// A Kind of emergency is present when all signs of one of its sets are.
type Kind struct {
	// Name is for logs, traces and clients; [Voice.Notices] has a text for each.
	Name string
	Sets [][]string
	// Alone is set when the notice itself names whom to call, or says that no call is needed.
	Alone bool
	// Passage is the heading, as in addresses, of the searched passage that follows the notice. If
	// empty, nothing is searched for.
	Passage string
	// With names another passage, by the name of a kind that is also described: shortness of breath
	// after an injection needs the passage on allergy.
	With map[string]string
	// Ends is set when the notice is the whole answer: nothing is searched, and no model is asked.
	Ends bool
	// Instead maps a sign to the kind that it shows is meant: a piece of a tooth is not a tooth
	// that came out, and a person who cannot breathe must not read that being seen today is enough.
	Instead map[string]string
}

// A Sign is something that a person may describe, in the phrases of package text.
type Sign struct {
	Name    string
	Phrases []string
	// Unless are phrases that give the sign another sense in the same sentence.
	Unless []string
	// Lasts is set for a sign that cannot be over, such as a fall.
	Lasts bool
}

// Simple returns emergencies with one kind for each sign.
func Simple(signs []Sign) Emergencies {
	e := Emergencies{Signs: signs}
	for _, s := range signs {
		e.Kinds = append(e.Kinds, Kind{Name: s.Name, Sets: [][]string{{s.Name}}})
	}
	return e
}

// Kind returns a kind by its name, and false if there is none.
func (e Emergencies) Kind(name string) (Kind, bool) {
	for _, k := range e.Kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

func (e Emergencies) check() error {
	var errs []error
	for _, k := range e.Kinds {
		if k.Ends && k.Passage != "" {
			errs = append(errs, fmt.Errorf("emergency %q: its notice ends the turn, so that the passage %q never follows: take one of them out", k.Name, k.Passage))
		}
		for _, name := range slices.Concat(slices.Concat(k.Sets...), slices.Sorted(maps.Keys(k.Instead))) {
			if !slices.ContainsFunc(e.Signs, func(s Sign) bool { return s.Name == name }) {
				errs = append(errs, fmt.Errorf("emergency %q: there is no sign %q: describe it, or take it out", k.Name, name))
			}
		}
		for _, other := range slices.Concat(slices.Sorted(maps.Values(k.Instead)), slices.Sorted(maps.Keys(k.With))) {
			if _, known := e.Kind(other); !known {
				errs = append(errs, fmt.Errorf("emergency %q: there is no kind %q: describe it, or take it out", k.Name, other))
			}
		}
	}
	return errors.Join(errs...)
}

// readEmergencies reads the sections "kind NAME", "kind NAME, alone", "kind NAME, alone, ends",
// after a kind "passage NAME" and "instead NAME", "sign NAME", "sign NAME, that lasts", "unless
// NAME" and "cue NAME".
func readEmergencies(text string) Emergencies {
	e := Emergencies{Cues: make(map[string][]string)}
	for _, s := range Sections(text) {
		what, name, _ := strings.Cut(s.Name, " ")
		switch what {
		case "kind":
			name, ends := strings.CutSuffix(name, ", ends")
			name, alone := strings.CutSuffix(name, ", alone")
			k := Kind{Name: name, Alone: alone, Ends: ends}
			for _, line := range s.Lines {
				k.Sets = append(k.Sets, split(line, "+"))
			}
			e.Kinds = append(e.Kinds, k)
		case "passage":
			last := &e.Kinds[len(e.Kinds)-1]
			last.Passage, last.With = s.Lines[0], pairs(s.Lines[1:])
		case "instead":
			e.Kinds[len(e.Kinds)-1].Instead = pairs(s.Lines)
		case "sign":
			name, lasts := strings.CutSuffix(name, ", that lasts")
			e.Signs = append(e.Signs, Sign{Name: name, Phrases: s.Lines, Lasts: lasts})
		case "unless":
			e.Signs[len(e.Signs)-1].Unless = s.Lines
		case "cue":
			e.Cues[name] = s.Lines
		}
	}
	return e
}

// pairs reads lines of a name, a colon and a value.
func pairs(lines []string) map[string]string {
	all := make(map[string]string, len(lines))
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		all[name] = value
	}
	return all
}

func split(line, separator string) []string {
	var parts []string
	for part := range strings.SplitSeq(line, separator) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
