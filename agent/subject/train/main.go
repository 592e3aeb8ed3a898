// Command train trains the tables that package subject embeds, from the labelled lines of the dental
// topic: "train talk" the needs of messages, "train topic" what belongs to the topic, "train alarms"
// its emergencies, "train letters" the spelling of English, and "train" all four. It trains a table
// if its sums in learned.sums have changed, or always with -force before the names. "go generate
// ./agent/subject" runs it.
//
// It owns the choice of training lines; package subject owns how a table is trained and read.
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

// run makes the named tables, or all, below the root of the module, if their sums have changed; with
// force always.
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

// make trains a table, and writes it and its sums.
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
