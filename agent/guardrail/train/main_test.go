package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The files in the repository are what training makes of the questions now. Floating
// point may round otherwise on another architecture.
func TestRun_MakesTheFilesOfTheRepository(t *testing.T) {
	if testing.Short() {
		t.Skip("training takes some seconds")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the weights were trained on amd64")
	}
	folder := filepath.Join(t.TempDir(), "agent", "guardrail") // the guide is beside its parent
	if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(weightsFile)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(folder, "data"), os.DirFS("../data")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(folder, guideFolder), os.DirFS(filepath.Join("..", guideFolder))); err != nil {
		t.Fatal(err)
	}
	if err := run(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{weightsFile, "data/test.jsonl"} {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what training makes: run go generate ./agent/guardrail", name)
		}
	}
}

// No question is tested by its own paraphrase, and the parts have their sizes.
func TestLoad_SplitsByGroup(t *testing.T) {
	p, err := load("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("train %d, test %d, held %d", len(p.train), len(p.test), len(p.held))
	if len(p.test) < 400 || len(p.held) < 1500 || len(p.train) < 1200 {
		t.Errorf("train %d, test %d, held %d: too few", len(p.train), len(p.test), len(p.held))
	}
	learned := map[string]bool{}
	for _, e := range p.train {
		learned[e.Text] = true
	}
	for _, e := range p.held {
		if learned[e.Text] {
			t.Errorf("%q is learned and held back", e.Text)
		}
	}
}

func TestRead_NamesTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.jsonl")
	if err := os.WriteFile(path, []byte("{\"text\":\"a\",\"in_domain\":true}\n{\"text\":1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := read(path)
	if err == nil || !strings.Contains(err.Error(), path+":2: ") {
		t.Errorf("got %v, want an error at %s:2", err, path)
	}
}
