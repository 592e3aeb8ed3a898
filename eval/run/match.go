package run

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"molar/eval"
	"molar/eval/importers"
	"molar/internal/cli"
)

// MatchFlags are the flags of eval match.
type MatchFlags struct {
	// Policy is bfcl: the rules of the benchmark's own checker.
	Policy, Calls  string
	Cases, Answers []string
	Gate           float64
}

// Match judges tool calls that another program recorded.
func (a *Commands) Match(f MatchFlags) error {
	if f.Policy != "bfcl" {
		return cli.Usage(fmt.Errorf("--policy %q: calls that were made elsewhere are judged by bfcl alone", f.Policy))
	}
	if !(f.Gate >= 0 && f.Gate <= 1) {
		return cli.Usage(fmt.Errorf("--gate %v: give a share between 0 and 1", f.Gate))
	}
	cases, err := readBFCL(f.Cases, f.Answers)
	if err != nil {
		return cli.Usage(err)
	}
	calls, err := os.Open(f.Calls)
	if err != nil {
		return cli.Usage(err)
	}
	defer calls.Close()
	out := bufio.NewWriter(a.Stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	unknown, valid, total := 0, 0, 0
	err = importers.ReadCalls(f.Calls, calls, func(line importers.Line) error {
		verdict := struct {
			ID     string `json:"id"`
			Valid  bool   `json:"valid"`
			Reason string `json:"reason"`
		}{ID: line.ID}
		if c, known := cases[line.ID]; !known {
			unknown++
			verdict.Reason = "no case has this id"
		} else if v := c.Judge(line); v.Valid {
			verdict.Valid = true
		} else {
			verdict.Reason = v.Type + ": " + v.Reason
		}
		total++
		if verdict.Valid {
			valid++
		}
		return enc.Encode(verdict)
	})
	if flushErr := out.Flush(); err == nil && flushErr != nil {
		return flushErr
	}
	if err == nil && unknown > 0 {
		err = fmt.Errorf("%s: %d lines have an id that no case has; give their file of cases with --cases", f.Calls, unknown)
	}
	if err != nil {
		return cli.Usage(err)
	}
	return a.concludeMatch(f, valid, total)
}

// concludeMatch prints the number of valid lines to standard error, and checks the gate.
func (a *Commands) concludeMatch(f MatchFlags, valid, total int) error {
	if total == 0 {
		return cli.With(eval.ExitNothing, fmt.Errorf("%s: there is no line to judge", f.Calls))
	}
	_, _ = fmt.Fprintf(a.Stderr, "%d of %d lines are valid\n", valid, total)
	if share := float64(valid) / float64(total); share < f.Gate {
		return cli.With(eval.ExitFailed, fmt.Errorf("the share of valid lines is %.4f, and --gate wants %v", share, f.Gate))
	}
	return nil
}

// readBFCL reads cases with their accepted answers. A duplicate id is an error.
func readBFCL(caseFiles, answerFiles []string) (map[string]importers.Case, error) {
	var all []importers.Case
	for _, name := range caseFiles {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		cases, err := importers.ReadCases(name, f)
		_ = f.Close() // it was only read
		if err != nil {
			return nil, err
		}
		all = append(all, cases...)
	}
	for _, name := range answerFiles {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = importers.ReadAnswers(name, f, all)
		_ = f.Close() // it was only read
		if err != nil {
			return nil, err
		}
	}
	cases := make(map[string]importers.Case, len(all))
	for _, c := range all {
		if _, twice := cases[c.ID]; twice {
			return nil, fmt.Errorf("case %q is there twice; give each file once", c.ID)
		}
		cases[c.ID] = c
	}
	return cases, nil
}
