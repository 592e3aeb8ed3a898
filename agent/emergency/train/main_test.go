package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"molar/agent/subject"
)

// The weights in the repository are what training makes of the messages now. Floating point
// may round otherwise on another architecture.
func TestRun_MakesTheFileOfTheRepository(t *testing.T) {
	if testing.Short() {
		t.Skip("training takes some seconds")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the weights were trained on amd64")
	}
	agent := t.TempDir()
	for _, folder := range []string{"emergency/train/data", "guardrail/data"} {
		if err := os.CopyFS(filepath.Join(agent, folder), os.DirFS(filepath.Join("../..", folder))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(agent, "topic/dental"), 0o755); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(agent, "emergency")
	if err := run(folder); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, weightsFile))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("../../subject", weightsFile))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what training makes: run go generate ./agent/emergency", weightsFile)
	}
}

// Writers who had seen neither the signs nor the messages that are learned, each left out once: how
// much is found of what the others do not say. It flatters a little, as messages were added
// after theirs were read. MOLAR_WRITERS=each takes the later writers too; the seventh, of whose
// messages a fourth is self-harm that few others speak of, counts in the sum alone.
func TestLessons_withoutEachWriter(t *testing.T) {
	if testing.Short() {
		t.Skip("training takes some seconds")
	}
	lines, err := load("../../subject")
	if err != nil {
		t.Fatal(err)
	}
	ordinary, strangers, err := questions("../../subject/data")
	if err != nil {
		t.Fatal(err)
	}
	writers := []string{"one", "two", "three", "four"}
	if os.Getenv("MOLAR_WRITERS") == "each" {
		writers = append(writers, "five", "six", "seven")
	}
	var allFound, allUrgent, allAlarms, allHarmless float64
	for _, name := range writers {
		theirs, err := read("data/writers/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		others := slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return slices.Contains(theirs, l) })
		dental := subject.Dental()
		dental.Emergencies.Weights = subject.TrainAlarms(dental, lessons(others, ordinary, strangers))
		detector := subject.NewDetector(dental)
		var found, all, alarms, harmless float64
		for _, l := range theirs {
			count, hits := &all, &found
			if l.kind == "" {
				count, hits = &harmless, &alarms
			}
			if *count++; len(detector.Find(l.text, "")) > 0 {
				*hits++
			}
		}
		t.Logf("writer %s: %.0f of %.0f found, %.0f of %.0f false alarms", name, found, all, alarms, harmless)
		if name != "seven" && (found/all < 0.9 || alarms/harmless > 0.05) {
			t.Errorf("writer %s: %.3f found, %.3f false alarms", name, found/all, alarms/harmless)
		}
		allFound, allUrgent, allAlarms, allHarmless = allFound+found, allUrgent+all, allAlarms+alarms, allHarmless+harmless
	}
	if allFound/allUrgent < 0.94 || allAlarms/allHarmless > 0.03 {
		t.Errorf("%.3f found, %.3f false alarms in all", allFound/allUrgent, allAlarms/allHarmless)
	}
}
