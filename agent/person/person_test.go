package person_test

import (
	"os"
	"testing"

	"molar/agent/person"
	"molar/agent/subject"
)

// The lines that the words were not fitted to must stay as well told apart as they are.
func TestIn(t *testing.T) {
	content, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	aside := os.Getenv("PERSON_ASIDE") != ""
	want := map[string]person.Request{
		"wants alone": person.Only, "wants beside a question": person.Beside, "not": person.Not,
	}
	for _, s := range subject.Sections(string(content)) {
		lines, wrong := 0, 0
		for i, line := range s.Lines {
			if i%2 == 1 != aside {
				continue
			}
			lines++
			if got := person.In(line); got != want[s.Name] {
				t.Errorf("%s: %q gives %d", s.Name, line, got)
				wrong++
			}
		}
		t.Logf("%s: %d of %d", s.Name, lines-wrong, lines)
	}
}
