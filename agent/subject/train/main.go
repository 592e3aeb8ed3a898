// Command train makes the tables that package subject has learned from the labelled lines of the
// dental topic: "train talk" what messages need of the conversation, "train topic" what is of the
// topic, "train alarms" its emergencies, "train letters" how English is spelled, and "train" all
// four. "go generate ./agent/subject" runs it.
//
// It owns which lines teach what; how a table is learned and read is of package subject.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	if err := run("../..", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

// A table is what one run of learning makes. No table is learned from another.
type table struct {
	name string
	// files are what is written, seen from the root of the module.
	files []string
	// learn reads what it needs below the root and returns the content of each file.
	learn func(root string) ([][]byte, error)
}

func tables() []table {
	return []table{
		{"talk", []string{"agent/subject/words/conversation.weights"}, learnTalk},
		{"topic", []string{"agent/subject/dental/weights", labelled + "/test.jsonl"}, learnTopic},
		{"alarms", []string{"agent/subject/dental/alarms"}, learnAlarms},
		{"letters", []string{"agent/subject/english.letters"}, learnLetters},
	}
}

// run makes the tables of some names, or all, below the root of the module.
func run(root string, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(tables(), func(t table) bool { return t.name == name }) {
			return fmt.Errorf("there is no table %q: use talk, topic, alarms or letters", name)
		}
	}
	for _, t := range tables() {
		if len(names) > 0 && !slices.Contains(names, t.name) {
			continue
		}
		if err := t.make(root); err != nil {
			return fmt.Errorf("make table %q: %w", t.name, err)
		}
	}
	return nil
}

func (t table) make(root string) error {
	contents, err := t.learn(root)
	if err != nil {
		return err
	}
	for i, file := range t.files {
		if err := os.WriteFile(filepath.Join(root, file), contents[i], 0o644); err != nil {
			return err
		}
	}
	return nil
}
