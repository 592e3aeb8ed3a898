//go:build long

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"molar/agent/subject"
	"molar/agent/subject/scoring"
	"molar/internal/testkit/packs"
)

// The tables in the repository equal those learned now. On another architecture floating point
// may round differently.
func TestTables_AreWhatIsLearned(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the tables were learned on amd64")
	}
	for _, table := range tables() {
		t.Run(table.name, func(t *testing.T) {
			got, err := table.learn(root)
			if err != nil {
				t.Fatal(err)
			}
			for i, file := range table.files {
				want, err := os.ReadFile(filepath.Join(root, file))
				if err != nil {
					t.Fatal(err)
				}
				if string(got[i]) != string(want) {
					t.Errorf("%s is not what is learned: run go generate ./agent/subject", file)
				}
			}
		})
	}
}

// Each line of the independent writers is judged by tables learned without its writer. Choices
// are made by these figures.
func TestWriters(t *testing.T) {
	p, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := read(filepath.Join(root, labelled, "strangers.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var writers []string
	for _, l := range lines {
		if !slices.Contains(writers, l.By) {
			writers = append(writers, l.By)
		}
	}
	own, probes := append(lessons(slices.Concat(p.train, p.traps), 1), names(packs.Dental())...), p.strangers[:len(p.strangers)-len(lines)]
	var n, right, sure, wrong int
	for i, writer := range writers {
		others, left := slices.Clone(probes), []subject.Example(nil)
		for _, l := range lines {
			if l.By == writer {
				left = append(left, l.Example)
			} else {
				others = append(others, l.Example)
			}
		}
		dental := packs.Dental()
		if dental.Weights, err = subject.TrainGuard(slices.Concat(own, lessons(others, asStranger)), own[:1], sureFrom); err != nil {
			t.Fatal(err)
		}
		g, err := subject.NewGuard(subject.GuardConfig{Topic: dental})
		if err != nil {
			t.Fatal(err)
		}
		r, err := scoring.Evaluate(t.Context(), g, left, nil)
		if err != nil {
			t.Fatal(err)
		}
		n, right, sure, wrong = n+r.N, right+r.Confusion.InPassed+r.Confusion.OutRefused, sure+r.Sure.N, wrong+r.Sure.Wrong
		t.Logf("without writer %d of %d: %d lines, accuracy %.3f, in-domain recall %.3f, sure %.3f, %d wrong", i+1, len(writers), r.N, r.Accuracy, r.InDomainRecall, r.Sure.Share, r.Sure.Wrong)
		for _, name := range r.Slices.Names() {
			t.Logf("  %-12s %4d %.3f", name, r.Slices[name].N, r.Slices[name].Accuracy)
		}
		for _, w := range r.Wrong {
			if w.Sure {
				t.Logf("  surely wrong, %.2f, %s: %s", w.Score, w.Kind, w.Text)
			}
		}
	}
	t.Logf("all: %d lines, accuracy %.3f, sure %.3f, %d wrong", n, float64(right)/float64(n), float64(sure)/float64(n), wrong)
	if float64(right)/float64(n) < 0.89 || float64(wrong)/float64(sure) > 0.01 {
		t.Errorf("of %d lines %d are judged rightly; of %d sure ones %d wrongly", n, right, sure, wrong)
	}
}

// Each writer who had seen neither the signs nor the training messages is left out once, to
// measure how much of their messages is found through those of the others. The figure is slightly
// optimistic, as messages were added after theirs were read. The seventh writer, a quarter of
// whose messages is about self-harm, which few others mention, counts only in the total.
func TestLessons_withoutEachWriter(t *testing.T) {
	m, err := readMessages(root)
	if err != nil {
		t.Fatal(err)
	}
	all := m.own
	writers := []string{"one", "two", "three", "four", "five", "six", "seven"}
	var allFound, allUrgent, allAlarms, allHarmless float64
	for _, name := range writers {
		theirs, err := readAlarmed(filepath.Join(root, emergencies, "writers", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		m.own = slices.DeleteFunc(slices.Clone(all), func(l message) bool { return slices.Contains(theirs, l) })
		dental := packs.Dental()
		dental.Emergencies.Weights = subject.TrainAlarms(dental, m.lessons())
		detector := subject.NewDetector(dental)
		var found, urgent, alarms, harmless float64
		for _, l := range theirs {
			count, hits := &urgent, &found
			if l.kind == "" {
				count, hits = &harmless, &alarms
			}
			if *count++; len(detector.Find(l.text, "")) > 0 {
				*hits++
			}
		}
		t.Logf("writer %s: %.0f of %.0f found, %.0f of %.0f false alarms", name, found, urgent, alarms, harmless)
		if name != "seven" && (found/urgent < 0.9 || alarms/harmless > 0.05) {
			t.Errorf("writer %s: %.3f found, %.3f false alarms", name, found/urgent, alarms/harmless)
		}
		allFound, allUrgent, allAlarms, allHarmless = allFound+found, allUrgent+urgent, allAlarms+alarms, allHarmless+harmless
	}
	if allFound/allUrgent < 0.94 || allAlarms/allHarmless > 0.03 {
		t.Errorf("%.3f found, %.3f false alarms in all", allFound/allUrgent, allAlarms/allHarmless)
	}
}
