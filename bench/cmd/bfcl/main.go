// Command bfcl judges tool calls with the rules of the Berkeley Function Calling Leaderboard's own
// checker: bfcl -cases FILE -answers FILE -calls FILE. Cases and accepted answers are files of the
// benchmark, the calls are lines of {"id", "tool_calls": [{"id", "function": {"name", "arguments"}}]}.
//
// For each line of calls, in order, it prints one line {"id","valid","reason"}. It fails for an invalid
// file, for an id that no case has, and if the share of valid lines is below -gate.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"molar/bench/bfcl"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bfcl:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bfcl", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var caseFiles, answerFiles names
	flags.Var(&caseFiles, "cases", "`file` of cases; may be repeated")
	flags.Var(&answerFiles, "answers", "`file` of accepted answers; may be repeated")
	calls := flags.String("calls", "", "`file` of calls to judge")
	gate := flags.Float64("gate", 0, "fail when a smaller `share` of the lines is valid; 1 wants all")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !(*gate >= 0 && *gate <= 1) {
		return fmt.Errorf("-gate %v: give a share between 0 and 1", *gate)
	}
	cases, err := read(caseFiles, answerFiles)
	if err != nil {
		return err
	}
	return open(*calls, func(f io.Reader) error { return judge(stdout, stderr, *calls, f, cases, *gate) })
}

// names are the values of a flag that may be repeated.
type names []string

func (n *names) String() string { return strings.Join(*n, " ") }

func (n *names) Set(name string) error {
	*n = append(*n, name)
	return nil
}

// read reads cases with their accepted answers. A duplicate id is an error.
func read(caseFiles, answerFiles names) (map[string]*bfcl.Case, error) {
	var all []bfcl.Case
	for _, name := range caseFiles {
		err := open(name, func(f io.Reader) error {
			cases, err := bfcl.ReadCases(name, f)
			all = append(all, cases...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, name := range answerFiles {
		if err := open(name, func(f io.Reader) error { return bfcl.ReadAnswers(name, f, all) }); err != nil {
			return nil, err
		}
	}
	cases := make(map[string]*bfcl.Case, len(all))
	for i, c := range all {
		if cases[c.ID] != nil {
			return nil, fmt.Errorf("case %q is there twice; give each file once", c.ID)
		}
		cases[c.ID] = &all[i]
	}
	return cases, nil
}

// open calls f with a file.
func open(name string, f func(io.Reader) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return f(file)
}

// judge prints the verdict of each line, and the number of valid ones to stderr.
func judge(stdout, stderr io.Writer, name string, calls io.Reader, cases map[string]*bfcl.Case, gate float64) error {
	out := bufio.NewWriter(stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	unknown, valid, total := 0, 0, 0
	err := bfcl.ReadCalls(name, calls, func(line bfcl.Line) error {
		verdict := struct {
			ID     string `json:"id"`
			Valid  bool   `json:"valid"`
			Reason string `json:"reason"`
		}{ID: line.ID, Reason: "no case has this id"}
		total++
		if c := cases[line.ID]; c == nil {
			unknown++
		} else if v := c.Judge(line); v.Valid {
			valid++
			verdict.Valid, verdict.Reason = true, ""
		} else {
			verdict.Reason = v.Type + ": " + v.Reason
		}
		return enc.Encode(verdict)
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	switch share := float64(valid) / float64(max(total, 1)); {
	case unknown > 0:
		return fmt.Errorf("%s: %d lines have an id that no case has; give their file of cases with -cases", name, unknown)
	case total == 0:
		return fmt.Errorf("%s: there is no line to judge", name)
	case share < gate:
		return fmt.Errorf("the share of valid lines is %.4f, and -gate wants %v", share, gate)
	}
	_, err = fmt.Fprintf(stderr, "%d of %d lines are valid\n", valid, total)
	return err
}
