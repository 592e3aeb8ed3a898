package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molar/agent/subject/scoring"
)

// root is the root of the module.
const root = "../../.."

// No question is tested by its own paraphrase, and the parts have the expected sizes.
func TestLoad_SplitsByGroup(t *testing.T) {
	p, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("train %d, test %d, strangers %d", len(p.train), len(p.test), len(p.strangers))
	if len(p.test) < 400 || len(p.strangers) < 3000 || len(p.train) < 1200 {
		t.Errorf("train %d, test %d, strangers %d: too few", len(p.train), len(p.test), len(p.strangers))
	}
	learned := map[string]bool{}
	for _, e := range slices.Concat(p.train, p.traps, p.strangers) {
		learned[e.Text] = true
	}
	for _, e := range p.test {
		if learned[e.Text] {
			t.Errorf("%q is learned and tested", e.Text)
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

// Every line of a question has a text, a label and a known language.
func TestRead_QuestionsAreLabelled(t *testing.T) {
	for _, name := range spelled() {
		if _, err := scoring.Read(filepath.Join(root, labelled, name)); err != nil {
			t.Error(err)
		}
	}
}
