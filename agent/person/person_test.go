package person_test

import (
	"os"
	"testing"

	"molar/agent/person"
	"molar/agent/subject"
)

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestIn(t *testing.T) {
	want := map[string]person.Request{"wants alone": person.Only, "wants beside a question": person.Beside, "not": person.Not}
	for _, s := range subject.Sections(read(t, "testdata/lines.txt")) {
		for _, line := range s.Lines {
			if got := person.In(line); got != want[s.Name] {
				t.Errorf("%s: %q gives %d", s.Name, line, got)
			}
		}
	}
	for _, message := range []string{"", "   ", "?!", "\xff\xfe", "🦷"} {
		if got := person.In(message); got != person.Not {
			t.Errorf("%q gives %d", message, got)
		}
	}
}

// Hardly any of thousands of questions to an assistant is taken for a request for a person.
func TestIn_LeavesQuestionsAlone(t *testing.T) {
	const most = 0.001
	path, n, asking := "../../topics/dental/lines/questions.jsonl", 0, []string(nil)
	err := subject.Lines(path, read(t, path), func(l subject.Line) error {
		if n++; person.In(l.Text) != person.Not {
			asking = append(asking, l.Text)
		}
		return nil
	})
	if err != nil || n < 1000 {
		t.Fatalf("%d lines, %v", n, err)
	}
	if share := float64(len(asking)) / float64(n); share > most {
		t.Errorf("%d of %d questions ask for a person: %q", len(asking), n, asking)
	}
}

func BenchmarkIn(b *testing.B) {
	for b.Loop() {
		person.In("Hôm qua em nhổ răng khôn ở phòng khám, hôm nay còn hơi sưng và ê, có cần uống thêm thuốc gì không ạ?")
	}
}
