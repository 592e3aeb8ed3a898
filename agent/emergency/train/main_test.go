package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"molar/agent/emergency"
	"molar/agent/topic"
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
	want, err := os.ReadFile(filepath.Join("..", weightsFile))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what training makes: run go generate ./agent/emergency", weightsFile)
	}
}

// Writers who had seen neither the signs nor the messages that are learned, half of them left out at
// once: how much is found of what the others do not say. It flatters a little, as messages were
// added after theirs were read. MOLAR_WRITERS=each leaves out one at a time, which takes longer and
// says more.
func TestLessons_withoutWriters(t *testing.T) {
	if testing.Short() {
		t.Skip("training takes some seconds")
	}
	lines, err := load("..")
	if err != nil {
		t.Fatal(err)
	}
	ordinary, strangers, err := questions("../../guardrail/data")
	if err != nil {
		t.Fatal(err)
	}
	writers := []string{"one", "two", "three", "four", "five", "six", "seven"}
	folds, least := 2, 0.87
	if os.Getenv("MOLAR_WRITERS") == "each" {
		folds, least = len(writers), 0.94
	}
	var found, all, alarms, harmless float64
	for fold := range folds {
		var left []line
		for i, name := range writers {
			theirs, err := read("data/writers/" + name + ".jsonl")
			if err != nil {
				t.Fatal(err)
			}
			if i%folds == fold {
				left = append(left, theirs...)
			}
		}
		others := slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return slices.Contains(left, l) })
		dental := topic.Dental()
		dental.Emergencies.Weights = emergency.Train(dental, lessons(others, ordinary, strangers))
		detector := emergency.New(dental)
		before := [4]float64{found, all, alarms, harmless}
		for _, l := range left {
			count, hits := &all, &found
			if l.kind == "" {
				count, hits = &harmless, &alarms
			}
			if *count++; len(detector.Find(l.text, "")) > 0 {
				*hits++
			}
		}
		t.Logf("without every writer %d of %d: %.0f of %.0f found, %.0f of %.0f false alarms", fold, folds, found-before[0], all-before[1], alarms-before[2], harmless-before[3])
	}
	if found/all < least || alarms/harmless > 0.03 {
		t.Errorf("%.3f found, %.3f false alarms", found/all, alarms/harmless)
	}
}
