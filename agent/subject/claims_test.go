package subject_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"molar/agent/subject"
)

// sourcedTopic returns the files of a pack for gardeners, with sections in topic.txt.
func sourcedTopic(sections string) fstest.MapFS {
	return fstest.MapFS{
		"topic.txt": {Data: []byte("# languages\nen\n# names\ngarden*\n" + sections)},
		"en.txt":    {Data: []byte("# description\ngardening.\n")},
	}
}

const gardenSections = `
# only from sources
doses, numbers, addresses, log-ins
# doses
ml, millilitres
scoop, scoops
# units
€, euro, euros
# number words
3, three
1000, thousand
# log-ins
log in, password
`

// What an answer may only take from a source is found however it is written, and ordinary counts are not.
func TestGuard_Claims(t *testing.T) {
	topic, err := subject.ReadPack(sourcedTopic(gardenSections), "garden")
	if err != nil {
		t.Fatal(err)
	}
	guard, err := subject.NewGuard(subject.GuardConfig{Topic: topic})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]struct {
		claims []string
		free   string // the beginning that may be shown before the sentence has ended
	}{
		"Water it for three reasons, 2 times in 30 minutes or so, as said.": {nil, "Water it for three reasons, 2 times in 30 minutes or so, as said."},
		"Mix 5 ml with water.":                 {[]string{"5 ml"}, "Mix "},
		"Mix 5millilitres or 1,5 ML.":          {[]string{"5 ml", "1.5 ml"}, "Mix "},
		"Three green scoops a week.":           {[]string{"3 scoop"}, ""},
		"It costs €1,200.50 or 2.500 euros.":   {[]string{"1200.5 €", "2500 €"}, "It costs "},
		"It costs 20 to 30 euros.":             {[]string{"20 €", "30 €"}, "It costs "},
		"It costs 20-30 thousand euros.":       {[]string{"20000", "30000"}, "It costs "},
		"Some 30,000 euros.":                   {[]string{"30000"}, "Some "},
		"Call 0900 123-456 now.":               {[]string{"0900123456"}, "Call "},
		"See https://www.A.example/b/?c=1.":    {[]string{"host a.example", "address a.example/b/?c=1"}, "See "},
		"Write to me@a.example or bb.example.": {[]string{"host me@a.example", "host bb.example"}, "Write to "},
		"Cut it.Then wait, e.g. a day.":        {nil, "Cut it.Then wait, e.g. a day."},
		"Log in with your password.":           {[]string{"log-in log in", "log-in password"}, ""},
		"It is 3":                              {nil, "It is "},
	} {
		if diff := cmp.Diff(want.claims, guard.Claims(in)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
		if free := in[:guard.Claimable(in)]; free != want.free {
			t.Errorf("%q: %q may be shown", in, free)
		}
	}
}

// A topic without the section asks for no sources.
func TestGuard_Claims_none(t *testing.T) {
	topic, err := subject.ReadPack(sourcedTopic(""), "garden")
	if err != nil {
		t.Fatal(err)
	}
	guard, err := subject.NewGuard(subject.GuardConfig{Topic: topic})
	if err != nil {
		t.Fatal(err)
	}
	if claims := guard.Claims("5 ml at a.example"); guard.Sourced() || claims != nil {
		t.Errorf("sourced %v: %q", guard.Sourced(), claims)
	}
}

func TestReadPack_onlyFromSources(t *testing.T) {
	for sections, want := range map[string]string{
		"# only from sources\nadresses":                            `there is no kind "adresses" (did you mean "addresses"?)`,
		"# only from sources\naddresses, addresses":                "addresses stands twice",
		"# only from sources\n":                                    `"# only from sources" is empty`,
		"# only from sources\ndoses":                               `there is no section "# doses"`,
		"# only from sources\nlog-ins":                             `there is no section "# log-ins"`,
		"# doses\nml":                                              `nothing uses "# doses"`,
		"# only from sources\naddresses\n# units\n€":               `nothing uses "# units": write numbers`,
		"# only from sources\nnumbers\n# number words\nthree, 3":   `"three, 3" is no number with its words`,
		"# only from sources\nnumbers\n# number words\n3":          `"3" is no number with its words`,
		"# only from sources\naddresses\n# number words\n3, three": `nothing uses "# number words": write doses or numbers`,
		"# only from source\naddresses":                            `did you mean "only from sources"?`,
	} {
		_, err := subject.ReadPack(sourcedTopic(sections), "garden")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", sections, err)
		}
	}
	if _, err := subject.ReadPack(sourcedTopic("# only from sources\naddresses, numbers"), "garden"); err != nil {
		t.Error(err)
	}
}
