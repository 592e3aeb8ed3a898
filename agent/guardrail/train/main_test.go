package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"molar/agent/subject"
	"molar/agent/subject/scoring"
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
	if err := os.CopyFS(filepath.Join(folder, "data"), os.DirFS("../../subject/data")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(folder, guideFolder), os.DirFS(filepath.Join("../../subject", guideFolder))); err != nil {
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
		want, err := os.ReadFile(filepath.Join("../../subject", name))
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
	p, err := load("../../subject")
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

// Each line of a stranger is judged by what was learned without its writer. This is what choices
// are made by. MOLAR_WRITERS=each leaves out one writer at a time instead of half of them, which
// takes longer and says more.
func TestWriters(t *testing.T) {
	if testing.Short() {
		t.Skip("training takes some seconds")
	}
	p, err := load("../../subject")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := read("../../subject/data/strangers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var writers []string
	for _, l := range lines {
		if !slices.Contains(writers, l.By) {
			writers = append(writers, l.By)
		}
	}
	folds := 2
	if os.Getenv("MOLAR_WRITERS") == "each" {
		folds = len(writers)
	}
	own, probes := append(lessons(slices.Concat(p.train, p.traps), 1), names(subject.Dental())...), p.strangers[:len(p.strangers)-len(lines)]
	var n, right, sure, wrong int
	for fold := range folds {
		others, left := slices.Clone(probes), []subject.Example(nil)
		for _, l := range lines {
			if slices.Index(writers, l.By)%folds == fold {
				left = append(left, l.Example)
			} else {
				others = append(others, l.Example)
			}
		}
		dental := subject.Dental()
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
		t.Logf("without every writer %d of %d: %d lines, accuracy %.3f, in-domain recall %.3f, sure %.3f, %d wrong", fold, folds, r.N, r.Accuracy, r.InDomainRecall, r.Sure.Share, r.Sure.Wrong)
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
