// Command verdict reads what the MCP conformance suite wrote about a server and prints a
// table: each scenario with its verdict, and why one does not apply. Many scenarios call
// tools, prompts and resources that only a test server has; everything else must pass.
//
// It owns the list of what does not apply. It starts neither the suite nor the server.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns 0, 1 when a scenario failed or too few passed, 2 for wrong arguments.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("verdict", flag.ContinueOnError)
	flags.SetOutput(stderr)
	title := flags.String("title", "server", "name of the set of scenarios")
	least := flags.Int("least", 1, "how many scenarios must pass")
	if flags.Parse(args) != nil || flags.NArg() != 1 {
		_, _ = fmt.Fprintln(stderr, "usage: verdict [-title NAME] [-least N] FOLDER")
		return 2
	}
	scenarios, err := read(flags.Arg(0))
	if err == nil {
		err = table(stdout, *title, scenarios, *least)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "verdict:", err)
		return 1
	}
	return 0
}

// check is one check of a scenario, as the suite writes it.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// scenario is what became of one scenario.
type scenario struct {
	name   string
	passed int
	// outside failed on something that the server does not offer.
	outside int
	why     string
	failed  []check
}

// read reads the folders that the suite left, one for each scenario.
func read(folder string) ([]scenario, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", "checks.json"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(fmt.Errorf("no results of the suite in %s", folder), err)
	}
	stamp := regexp.MustCompile(`-\d{4}-\d\d-\d\dT[-\d]+Z$`)
	var all []scenario
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var checks []check
		if err := json.Unmarshal(data, &checks); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		name := stamp.ReplaceAllString(filepath.Base(filepath.Dir(file)), "")
		all = append(all, judge(strings.TrimPrefix(name, "server-"), checks))
	}
	slices.SortFunc(all, func(a, b scenario) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

func judge(name string, checks []check) scenario {
	s := scenario{name: name}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			s.passed++
		case "FAILURE":
			if why := outside(name, c.Message); why != "" {
				s.outside++
				s.why = why
				continue
			}
			s.failed = append(s.failed, c)
		}
	}
	return s
}

// outside returns why a failed check does not apply; empty when it does. The message is
// matched too, so that a scenario fails when it does so for another reason.
func outside(name, message string) string {
	const testServer = "needs a tool, prompt or resource that only a test server has"
	for _, rule := range []struct{ scenario, message, why string }{
		{"logging-set-level", "logging not supported", "no logging is announced"},
		{"tools-call-with-logging", "logging not supported", "no logging is announced"},
		{"completion-complete", "completions not supported", "no completions are announced"},
		{"tasks-*", "", "the tasks extension is not announced"},
		{"input-required-result-multi-round", "Expected InputRequiredResult", testServer},
		{"input-required-result-tampered-state", "Prerequisite failed", testServer},
		{"*", "tool 'test_", testServer},
		{"*", "Tool 'json_schema_2020_12_tool' not found", testServer},
		{"*", `there is no prompt "test_`, testServer},
		{"*", "Resource not found: test://", testServer},
		{"*", "Not testable: server", testServer},
	} {
		if ok, _ := path.Match(rule.scenario, name); ok && strings.Contains(message, rule.message) {
			return rule.why
		}
	}
	return ""
}

// table writes the table and the figure, and fails when a scenario did.
func table(out io.Writer, title string, scenarios []scenario, least int) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	passed, beside, failed := 0, 0, 0
	for _, s := range scenarios {
		verdict, note := "passed", ""
		switch {
		case len(s.failed) > 0:
			verdict, note = "FAILED", s.failed[0].ID+": "+s.failed[0].Message
			failed++
		case s.outside == 0 && s.passed > 0:
			passed++
		case s.passed > s.outside: // the rest of it was tried
			note = fmt.Sprintf("%d of its checks %s", s.outside, strings.Replace(s.why, "needs", "need", 1))
			passed++
		default:
			verdict, note = "-", cmp.Or(s.why, "nothing was checked")
			beside++
		}
		_, _ = fmt.Fprintf(w, "  %s\t%s\t%s\n", s.name, verdict, note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%s: passed %d of %d that apply, %d do not\n", title, passed, passed+failed, beside)
	if failed > 0 || passed < least {
		return fmt.Errorf("%s: %d scenarios failed, and %d passed where %d must", title, failed, passed, least)
	}
	return nil
}
