package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
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

// A message that is learned is none of those that measure what was learned.
func TestLoad_LearnsNoLineOfStrangers(t *testing.T) {
	lines, err := load("..")
	if err != nil {
		t.Fatal(err)
	}
	learned := make(map[string]bool)
	for _, l := range lines {
		learned[l.text] = true
	}
	for _, name := range []string{"emergencies.jsonl", "harmless.jsonl"} {
		strangers, err := read(filepath.Join("../testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range strangers {
			if learned[l.text] {
				t.Errorf("%q is learned", l.text)
			}
		}
	}
	if len(lines) < 1200 || len(learned) < len(lines)*99/100 {
		t.Errorf("%d lines, %d of them different", len(lines), len(learned))
	}
}
