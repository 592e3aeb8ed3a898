package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The output formats of the commands.
const (
	Text       = "text"
	JSON       = "json"
	StreamJSON = "stream-json"
)

// CheckFormat refuses an output format that is neither text nor json.
func CheckFormat(format string) error {
	if format != Text && format != JSON {
		return Usage(fmt.Errorf("--output-format %q: choose text or json", format))
	}
	return nil
}

// Say prints a line on standard output.
func (c *CLI) Say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Stdout, format+"\n", args...)
}

// Note prints a line on standard error, to keep standard output free for the result.
func (c *CLI) Note(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Stderr, format+"\n", args...)
}

// PrintJSON prints a value as indented JSON on standard output.
func (c *CLI) PrintJSON(v any) error {
	enc := json.NewEncoder(c.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Day formats a time for people, to the minute.
func Day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// Having returns the words that begin with start, sorted and without duplicates.
func Having(start string, words []string) []string {
	words = slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, start) })
	slices.Sort(words)
	return slices.Compact(words)
}
