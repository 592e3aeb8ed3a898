package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// An event is one line of "go test -json"; see "go doc test2json".
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

type id struct{ pkg, test string }

func (i id) String() string { return strings.TrimSpace(i.pkg + " " + i.test) }

// names is a set in the order of its making.
type names []string

func (n *names) add(name string) {
	if !slices.Contains(*n, name) {
		*n = append(*n, name)
	}
}

// remove reports whether name was there.
func (n *names) remove(name string) bool {
	i := slices.Index(*n, name)
	if i >= 0 {
		*n = slices.Delete(*n, i, i+1)
	}
	return i >= 0
}

// checkTests reads the output of "go test -json", and shows what failed and how each package
// fared. It returns the exit code: 1 when a test or build failed, a test was skipped that may
// not be, or the input holds no passed test at all. It runs where everything that a test
// could need is present, so that a skip means a hole in the checks. A test that failed and
// passed when it was run once more alone is named as flaky; a data race is a failure whatever
// came after it.
func checkTests(in io.Reader, out io.Writer, short bool) int {
	var (
		outputs       = map[id]*strings.Builder{}
		passed        int
		skipped       []string
		unasked       []string
		failed, flaky names
	)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			_, _ = fmt.Fprintln(out, lines.Text()) // of the go command itself
			continue
		}
		key := id{e.Package, e.Test}
		switch e.Action {
		case "output":
			if outputs[key] == nil {
				outputs[key] = new(strings.Builder)
			}
			outputs[key].WriteString(e.Output)
			if strings.Contains(e.Output, "WARNING: DATA RACE") {
				failed.add("data race in " + key.String())
			}
			continue
		case "build-output":
			_, _ = io.WriteString(out, e.Output)
			continue
		case "build-fail":
			failed.add(e.ImportPath + " (build)")
			continue
		case "pass":
			if failed.remove(key.String()) && e.Test != "" {
				flaky.add(key.String())
			}
			if e.Test != "" {
				passed++
			} else {
				_, _ = fmt.Fprintf(out, "ok   %-50s %6.1fs\n", e.Package, e.Elapsed)
			}
		case "fail":
			failed.add(key.String())
			show(out, outputs[key])
		case "skip":
			switch {
			case e.Test == "" || short: // a folder without tests, or one that takes long
			case isChoice(outputs[key]):
				unasked = append(unasked, e.Package+" "+e.Test)
			default:
				skipped = append(skipped, e.Package+" "+e.Test)
				show(out, outputs[key])
			}
		default:
			continue
		}
		delete(outputs, key)
	}
	if err := lines.Err(); err != nil {
		failed.add("reading the results: " + err.Error())
	}
	_, _ = fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, len(failed), len(skipped))
	list(out, "failed", failed)
	list(out, "flaky, passed when run again", flaky)
	list(out, "skipped", skipped)
	list(out, "not asked for", unasked)
	if len(failed)+len(skipped) > 0 || passed == 0 {
		return 1
	}
	return 0
}

// isChoice tells a skip that a person chose, by not setting the variable that the
// reason names (a key to a paid service, say), from one for a missing part.
func isChoice(reason *strings.Builder) bool {
	return reason != nil && strings.Contains(reason.String(), " is not set: ")
}

func show(out io.Writer, b *strings.Builder) {
	if b != nil {
		_, _ = io.WriteString(out, b.String())
	}
}

func list(out io.Writer, title string, names []string) {
	for _, name := range names {
		_, _ = fmt.Fprintf(out, "%s: %s\n", title, name)
	}
}
