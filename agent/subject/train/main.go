// Command train makes the tables that package subject has learned from the labelled lines of the
// dental topic: "train talk" what messages need of the conversation, "train topic" what is of the
// topic, "train alarms" its emergencies, "train letters" how English is spelled, and "train" all
// four. A table is made when its sums in learned.sums do not hold, with -force in front of the
// names always. "go generate ./agent/subject" runs it.
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
	names, force := os.Args[1:], false
	if len(names) > 0 && names[0] == "-force" {
		names, force = names[1:], true
	}
	if err := run("../..", names, force); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

// run makes the tables of some names, or all, below the root of the module: those whose sums do
// not hold, or with force each of them.
func run(root string, names []string, force bool) error {
	for _, name := range names {
		if !slices.ContainsFunc(tables(), func(t table) bool { return t.name == name }) {
			return fmt.Errorf("there is no table %q: use talk, topic, alarms or letters", name)
		}
	}
	for _, t := range tables() {
		if len(names) > 0 && !slices.Contains(names, t.name) {
			continue
		}
		if !force && t.holds(os.DirFS(root)) == nil {
			continue
		}
		if err := t.make(root); err != nil {
			return fmt.Errorf("make table %q: %w", t.name, err)
		}
	}
	return nil
}

// make learns a table, and writes it and its sums.
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
	return t.note(root)
}
