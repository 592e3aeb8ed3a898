package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"molar/eval"
	"molar/eval/bfcl"
	"molar/eval/match"
)

// matchFlags are the flags of eval match.
type matchFlags struct {
	policy, calls  string
	cases, answers []string
	gate           float64
}

func newEvalMatchCmd(a *app) *cobra.Command {
	var f matchFlags
	cmd := &cobra.Command{
		Use:   "match --policy strict|schema|bfcl --cases FILE --answers FILE --calls FILE",
		Short: "Score tool calls that were made elsewhere",
		Long: `Score tool calls that were made elsewhere: the cases and their accepted answers are
files of the Berkeley Function Calling Leaderboard, the calls are lines of
{"id", "tool_calls": [{"id", "function": {"name", "arguments"}}]}.

For each line of calls, in order, one JSON line {"id","valid","reason"} is printed.
With the policy bfcl the verdict is that of the benchmark's own checker.

Exit codes: 0 every line is judged, whatever the verdicts; 1 a smaller share of them is
valid than --gate wants; 2 usage, an invalid file, or an id that no case has; 5 there
was no line to judge.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.evalMatch(f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.policy, "policy", string(match.PolicyStrict), "strict, schema or bfcl")
	flags.StringArrayVar(&f.cases, "cases", nil, "`file` of cases; may be repeated")
	flags.StringArrayVar(&f.answers, "answers", nil, "`file` of accepted answers; may be repeated")
	flags.StringVar(&f.calls, "calls", "", "`file` of calls to score")
	flags.Float64Var(&f.gate, "gate", 0, "exit with 1 when a smaller `share` of the lines is valid; 1 wants all")
	for _, name := range []string{"cases", "calls"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

func (a *app) evalMatch(f matchFlags) error {
	policy, err := match.ParsePolicy(f.policy)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("--policy: %w", err)}
	}
	if !(f.gate >= 0 && f.gate <= 1) {
		return &exitError{exitUsage, fmt.Errorf("--gate %v: give a share between 0 and 1", f.gate)}
	}
	cases, err := readBFCL(f.cases, f.answers)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	calls, err := os.Open(f.calls)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer calls.Close()
	out := bufio.NewWriter(a.stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	unknown, valid, total := 0, 0, 0
	err = bfcl.ReadCalls(f.calls, calls, func(line bfcl.Line) error {
		verdict := struct {
			ID     string `json:"id"`
			Valid  bool   `json:"valid"`
			Reason string `json:"reason"`
		}{ID: line.ID}
		if c, known := cases[line.ID]; !known {
			unknown++
			verdict.Reason = "no case has this id"
		} else if verdict.Valid, verdict.Reason, err = match.Judge(c, line, policy); err != nil {
			return err
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
		err = fmt.Errorf("%s: %d lines have an id that no case has; give their file of cases with --cases", f.calls, unknown)
	}
	if err != nil {
		return &exitError{exitUsage, err}
	}
	return a.concludeMatch(f, valid, total)
}

// concludeMatch says on standard error how many lines are valid, and whether that is
// enough.
func (a *app) concludeMatch(f matchFlags, valid, total int) error {
	if total == 0 {
		return &exitError{eval.ExitNothing, fmt.Errorf("%s: there is no line to judge", f.calls)}
	}
	_, _ = fmt.Fprintf(a.stderr, "%d of %d lines are valid\n", valid, total)
	if share := float64(valid) / float64(total); share < f.gate {
		return &exitError{eval.ExitFailed, fmt.Errorf("the share of valid lines is %.4f, and --gate wants %v", share, f.gate)}
	}
	return nil
}

// readBFCL reads cases and puts their accepted answers into them. An id that two
// cases have is a fault.
func readBFCL(caseFiles, answerFiles []string) (map[string]bfcl.Case, error) {
	var all []bfcl.Case
	for _, name := range caseFiles {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		cases, err := bfcl.ReadCases(name, f)
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
		err = bfcl.ReadAnswers(name, f, all)
		_ = f.Close() // it was only read
		if err != nil {
			return nil, err
		}
	}
	cases := make(map[string]bfcl.Case, len(all))
	for _, c := range all {
		if _, twice := cases[c.ID]; twice {
			return nil, fmt.Errorf("case %q is there twice; give each file once", c.ID)
		}
		cases[c.ID] = c
	}
	return cases, nil
}
