package subject

import (
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
	// CrisisLine is whom a person with thoughts of suicide can call; empty means the words of
	// [Voice.CrisisLine].
	CrisisLine string
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
	// Instead maps a sign to the kind that it shows is meant: a crushed finger is not one that is
	// cut off, and a person who cannot breathe must not read that being seen today is enough.
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

// rank returns the place of a kind among the kinds, zero for the most pressing.
func (e Emergencies) rank(name string) int {
	return slices.IndexFunc(e.Kinds, func(k Kind) bool { return k.Name == name })
}

// names returns the names of the kinds.
func (e Emergencies) names() []string {
	var names []string
	for _, k := range e.Kinds {
		names = append(names, k.Name)
	}
	return names
}

func (e Emergencies) check() (errs []error) {
	once := func(what string, names []string) {
		for i, name := range names {
			if name == "" || slices.Contains(names[:i], name) {
				errs = append(errs, fmt.Errorf("the %s of emergency %q has no name, or stands twice: name it, or put the two together", what, name))
			}
		}
	}
	var signs []string
	for _, s := range e.Signs {
		signs = append(signs, s.Name)
	}
	once("kind", e.names())
	once("sign", signs)
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
	if _, err := readLearned(e.Weights, len(e.Kinds)); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// emergencies reads the sections "kind NAME", "kind NAME, alone", "kind NAME, alone, ends", after a
// kind "passage NAME" and "instead NAME", "sign NAME", "sign NAME, that lasts", after it "unless
// NAME", and "cue NAME", "number" and "crisis line".
func (r *packReader) emergencies() Emergencies {
	e := Emergencies{Cues: make(map[string][]string)}
	kinds := []string{"kind", "passage", "instead", "sign", "unless", "cue"}
	for _, s := range r.sections(EmergencyFile, sectionNames{[]string{"number", "crisis line"}, kinds}) {
		what, name, _ := strings.Cut(s.Name, " ")
		lines := r.entries(EmergencyFile, s.Name, s.Lines)
		if len(lines) == 0 {
			r.fault(EmergencyFile, `"# %s" is empty: fill it, or take it out`, clip(s.Name, maxQuoted))
			continue
		}
		switch {
		case s.Name == "number":
			e.Number = r.text(EmergencyFile, s)
		case s.Name == "crisis line":
			e.CrisisLine = r.text(EmergencyFile, s)
		case what == "kind":
			name, ends := strings.CutSuffix(name, ", ends")
			name, alone := strings.CutSuffix(name, ", alone")
			k := Kind{Name: name, Alone: alone, Ends: ends}
			for _, line := range lines {
				k.Sets = append(k.Sets, split(line, "+"))
			}
			e.Kinds = append(e.Kinds, k)
		case what == "sign":
			name, lasts := strings.CutSuffix(name, ", that lasts")
			e.Signs = append(e.Signs, Sign{Name: name, Phrases: lines, Lasts: lasts})
		case what == "unless":
			if last := lastOf(e.Signs); r.follows(s, last != nil && last.Name == name, "sign") {
				last.Unless = lines
			}
		case what == "cue":
			if !slices.Contains(cueNames(), name) {
				r.fault(EmergencyFile, `there is no cue %q%s: there are %s`, clip(name, maxQuoted), didYouMean(name, cueNames()), strings.Join(cueNames(), ", "))
			}
			e.Cues[name] = lines
		default:
			if last := lastOf(e.Kinds); r.follows(s, last != nil && last.Name == name, "kind") {
				r.kindPart(last, what, s)
			}
		}
	}
	for _, err := range e.check() {
		r.fault(EmergencyFile, "%w", err)
	}
	return e
}

// follows reports whether a section stands below the one that it is about.
func (r *packReader) follows(s Section, does bool, what string) bool {
	if !does {
		r.fault(EmergencyFile, `"# %s" is not below the %s of that name: move it there, or take it out`, clip(s.Name, maxQuoted), what)
	}
	return does
}

// kindPart reads what belongs to a kind.
func (r *packReader) kindPart(k *Kind, what string, s Section) {
	lines := s.Lines
	if what == "passage" {
		k.Passage, lines = lines[0], lines[1:]
	}
	values := make(map[string]string, len(lines))
	for _, line := range lines {
		name, value, found := strings.Cut(line, ": ")
		if !found {
			r.fault(EmergencyFile, `"# %s": %q has no ": ": want a name, a colon and a value`, clip(s.Name, maxQuoted), clip(line, maxQuoted))
		}
		values[name] = value
	}
	if what == "passage" {
		k.With = values
	} else {
		k.Instead = values
	}
}

// lastOf returns the last of a list, or nil.
func lastOf[T any](all []T) *T {
	if len(all) == 0 {
		return nil
	}
	return &all[len(all)-1]
}

// cueNames returns the names of the cues that a topic can add phrases to.
func cueNames() []string {
	var names []string
	for _, s := range Sections(cueWords) {
		names = append(names, s.Name)
	}
	return names
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
