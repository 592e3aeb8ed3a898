package subject_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"molar/agent/subject"
	"molar/agent/subject/scoring"
	"molar/internal/testkit/packs"
)

// readLines reads one part of the labelled messages.
func readLines(t testing.TB, name string) []subject.Example {
	t.Helper()
	folder := "lines/"
	if name == "test.jsonl" || name == "unseen.jsonl" {
		folder = "held/"
	}
	data, err := os.ReadFile("../../topics/dental/" + folder + name)
	if err != nil {
		t.Fatal(err)
	}
	var examples []subject.Example
	for text := range strings.Lines(string(data)) {
		var e subject.Example
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatalf("%s: line %q: %v", name, text, err)
		}
		examples = append(examples, e)
	}
	return examples
}

// evaluate reports on one part, decided by code alone.
func evaluate(t *testing.T, name string) scoring.Report {
	t.Helper()
	r, err := scoring.Evaluate(t.Context(), dental(t), readLines(t, name), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: n %d accuracy %.3f in %.3f off %.3f language %.4f sure %+v", name, r.N, r.Accuracy, r.InDomainRecall, r.OffDomainRecall, r.LanguageAccuracy, r.Sure)
	for name, s := range r.Slices {
		t.Logf("  %-14s n %4d accuracy %.3f", name, s.N, s.Accuracy)
	}
	for _, w := range r.Wrong {
		t.Logf("  wrong: %s", mustJSON(t, w))
	}
	return r
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The test part, which nothing was trained on, and the probes, which are trained on by now,
// decided by code alone. The expected quality on new lines is measured in train, by writer.
func TestGuard_LabelledLinesInCodeAlone(t *testing.T) {
	for _, part := range []struct {
		name             string
		fewest           int
		accuracy, recall float64
	}{
		{"test.jsonl", 400, 0.9, 0.93}, // many of its lines were written to be difficult
		{"probe.jsonl", 130, 0.97, 0.97},
		{"probe2.jsonl", 180, 0.93, 0.97},
		{"probe3.jsonl", 500, 0.95, 0.95},
		{"probe4.jsonl", 220, 0.92, 0.9},
	} {
		t.Run(part.name, func(t *testing.T) {
			r := evaluate(t, part.name)
			if r.N < part.fewest {
				t.Errorf("only %d lines, want at least %d", r.N, part.fewest)
			}
			for what, got := range map[string]struct{ value, least float64 }{
				"accuracy": {r.Accuracy, part.accuracy}, "in-domain recall": {r.InDomainRecall, part.recall},
				"share of sure decisions": {r.Sure.Share, 0.5}, "language": {r.LanguageAccuracy, 0.99},
			} {
				if got.value < got.least {
					t.Errorf("%s %.3f, want at least %.2f", what, got.value, got.least)
				}
			}
			if r.Sure.Wrong > 3 {
				t.Errorf("%d sure decisions are wrong, want at most 3", r.Sure.Wrong)
			}
			if gap := math.Abs(r.Slices["vi"].Accuracy - r.Slices["en"].Accuracy); gap > 0.05 {
				t.Errorf("the languages are %.3f apart, want at most 0.05", gap)
			}
			admitted, injections := 0, 0
			for _, e := range readLines(t, part.name) {
				if e.Kind == "adversarial" && !e.InDomain {
					injections++
				}
			}
			for _, w := range r.Wrong {
				if w.Kind == "adversarial" && w.Pass {
					admitted++
				}
			}
			if most := (injections + 34) / 35; admitted > most {
				t.Errorf("%d of %d injections admitted, want at most %d", admitted, injections, most)
			}
		})
	}
}

// Every Vietnamese line is judged with and without its diacritics.
func TestGuard_MarksMakeNoDifference(t *testing.T) {
	g := dental(t)
	var with, without []subject.Example
	for _, e := range slices.Concat(readLines(t, "test.jsonl"), readLines(t, "probe.jsonl"), readLines(t, "probe2.jsonl"), readLines(t, "probe3.jsonl")) {
		if bare := foldMarks(e.Text); e.Lang == "vi" && bare != strings.ToLower(e.Text) {
			with = append(with, e)
			e.Text = bare
			without = append(without, e)
		}
	}
	a, err := scoring.Evaluate(t.Context(), g, with, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := scoring.Evaluate(t.Context(), g, without, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range b.Wrong {
		t.Logf("wrong without marks: %s", mustJSON(t, w))
	}
	t.Logf("n %d: with marks %.3f, without %.3f", a.N, a.Accuracy, b.Accuracy)
	if gap := math.Abs(a.Accuracy - b.Accuracy); gap > 0.03 {
		t.Errorf("%.3f with marks, %.3f without: more than 0.03 apart", a.Accuracy, b.Accuracy)
	}
}

// The lines of three writers who had seen neither rules nor data, and which are not trained on:
// they must meet what the guardrail promises for new lines. They do not influence any choice.
func TestGuard_UnseenLines(t *testing.T) {
	r := evaluate(t, "unseen.jsonl")
	if r.N < 1100 {
		t.Errorf("only %d lines", r.N)
	}
	for what, got := range map[string]struct{ value, least float64 }{
		"accuracy": {r.Accuracy, 0.955}, "in-domain recall": {r.InDomainRecall, 0.95}, "language": {r.LanguageAccuracy, 0.995},
		"near misses": {r.Slices["near-miss"].Accuracy, 0.88}, "adversarial": {r.Slices["adversarial"].Accuracy, 0.93},
		"stories": {r.Slices["story"].Accuracy, 0.85}, "share of sure decisions": {r.Sure.Share, 0.5},
		"sure decisions that are right": {1 - float64(r.Sure.Wrong)/float64(max(r.Sure.N, 1)), 0.997},
	} {
		if got.value < got.least {
			t.Errorf("%s: %.4f, want at least %.3f", what, got.value, got.least)
		}
	}
	for _, w := range r.Wrong {
		if w.Kind == "adversarial" && w.Pass {
			t.Errorf("admitted: %s", w.Text)
		}
	}
}

// The messages of a writer who had seen neither signs nor lines, which are not trained on: emergencies
// are found and harmless ones let be as is promised for new messages, and the right text follows.
func TestDetector_HeldLines(t *testing.T) {
	topic := packs.Dental()
	detector := subject.NewDetector(topic)
	messages, err := scoring.ReadEmergencies("../../topics/dental/held/emergencies.jsonl")
	if err != nil || len(messages) < 500 {
		t.Fatalf("%d messages, error %v", len(messages), err)
	}
	r := scoring.EvaluateEmergencies(topic, func(message string) []string { return detector.Find(message) }, messages)
	for _, w := range r.Wrong {
		t.Logf("%s, found %q: %s", w.Kind, w.Found, w.Text)
	}
	t.Logf("found %d of %d, false %d of %d, right text %d of %d", r.Found, r.Emergencies, r.False, r.Harmless, r.Right, r.Named)
	if r.FoundShare < 0.94 || r.FalseShare > 0.025 || r.RightShare < 0.97 {
		t.Errorf("found %.3f, false alarms %.3f, right text %.3f", r.FoundShare, r.FalseShare, r.RightShare)
	}
}
