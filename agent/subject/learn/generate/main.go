// Command generate learns the tables that come with the program: "generate talk" what messages need of
// their conversation, "generate letters" the spelling of English, "generate topic" the dental pack,
// and "generate" all three. It learns a table if its sums in learned.sums have changed, or always with
// -force before the names. "go generate ./agent/subject" runs it, for the topic in a second program: the
// first two tables are part of the one that learns it.
package main

import (
	"context"
	"errors"
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
	if err := run(context.Background(), "../..", names, force); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run makes the named tables, or all, below the root of the module, if their sums have changed; with
// force always.
func run(ctx context.Context, root string, names []string, force bool) error {
	for _, name := range names {
		if !slices.ContainsFunc(tables(), func(t table) bool { return t.name == name }) {
			return fmt.Errorf("there is no table %q: use talk, topic or letters", name)
		}
	}
	embedded := false // one of the tables that are part of this program is no longer what it holds
	for _, t := range tables() {
		if len(names) > 0 && !slices.Contains(names, t.name) {
			continue
		}
		if !force && t.holds(os.DirFS(root)) == nil {
			continue
		}
		if t.name == topicTable && embedded {
			return errors.New("the other tables have changed, and the topic is learned with them: run it again for the topic")
		}
		embedded = true
		if err := t.make(ctx, root); err != nil {
			return fmt.Errorf("make table %q: %w", t.name, err)
		}
		if err := t.note(root); err != nil {
			return err
		}
	}
	return nil
}

// writes returns a maker that writes one file.
func writes(file string, learn func(root string) ([]byte, error)) func(context.Context, string) error {
	return func(_ context.Context, root string) error {
		content, err := learn(root)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(root, file), content, 0o644)
	}
}
