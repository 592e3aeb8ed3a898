package subject_test

import (
	"slices"
	"testing"

	"molar/agent/subject"
	"molar/internal/testkit/packs"
)

func TestLeading(t *testing.T) {
	dental := packs.Dental()
	for _, k := range dental.Emergencies.Kinds {
		for _, lang := range []string{"en", "vi"} {
			kinds := []string{k.Name, dental.Emergencies.Kinds[0].Name}
			if k.Ends { // the notice is the whole answer
				kinds[1] = k.Name
			}
			notice := subject.Notice(dental, kinds, lang)
			found, got := subject.Leading(dental, notice+"\n\nSee a dentist then.")
			if found != notice {
				t.Errorf("%s in %s: found %q, want %q", k.Name, lang, found, notice)
			}
			if !slices.Contains(got, kinds[0]) || !slices.Contains(got, kinds[1]) || len(got) > 2 {
				t.Errorf("%s in %s: told %q, want %q", k.Name, lang, got, kinds)
			}
			if got, _ := subject.Leading(dental, notice); got != notice {
				t.Errorf("%s in %s alone: found %q", k.Name, lang, got)
			}
		}
	}
	for _, answer := range []string{"", "Brush twice a day.", "Call 115."} {
		if got, kinds := subject.Leading(dental, answer); got != "" || len(kinds) > 0 {
			t.Errorf("%q begins with the notice %q, of %q", answer, got, kinds)
		}
	}
}
