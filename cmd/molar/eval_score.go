package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"molar/eval"
	"molar/eval/report"
)

func newEvalScoreCmd(a *app) *cobra.Command {
	var out outFlags
	var chosen selectFlags
	cmd := &cobra.Command{
		Use:   "score [flags] FILE|FOLDER...",
		Short: "Judge what the tapes of cases tell, and run nothing",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cases, err := a.loadCases(args, &chosen)
			if err != nil {
				return err
			}
			rep, err := eval.Score(cases)
			if err != nil {
				return evalError(err)
			}
			return a.concludeReport(rep, &out, false)
		},
	}
	out.add(cmd)
	chosen.add(cmd)
	return cmd
}

// concludeReport prints and writes a report, and finds the exit code.
func (a *app) concludeReport(rep *eval.Report, out *outFlags, quiet bool) error {
	if !quiet && out.json != "-" {
		if err := report.Text(a.stdout, rep); err != nil {
			return err
		}
	}
	if err := out.write(a, rep); err != nil {
		return err
	}
	if code := rep.ExitCode(); code != 0 {
		return &exitError{code, nil}
	}
	return nil
}

func newEvalReportCmd(a *app) *cobra.Command {
	var out outFlags
	cmd := &cobra.Command{
		Use:   "report [flags] REPORT.json",
		Short: "Write a report that was kept as JSON in other forms",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			rep, err := readReport(args[0])
			if err != nil {
				return err
			}
			if out == (outFlags{}) {
				return report.Text(a.stdout, rep)
			}
			return out.write(a, rep)
		},
	}
	out.add(cmd)
	return cmd
}

// readReport reads a report's JSON.
func readReport(name string) (*eval.Report, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	var rep eval.Report
	if err := json.Unmarshal(data, &rep); err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("%s: no report: %w", name, err)}
	}
	switch {
	case rep.V == 0:
		return nil, &exitError{exitUsage, fmt.Errorf("%s: no report: it has no version", name)}
	case rep.V > eval.ReportVersion:
		return nil, &exitError{exitUsage, fmt.Errorf("%s: the report has version %d, this program reads up to %d", name, rep.V, eval.ReportVersion)}
	}
	return &rep, nil
}

func newEvalDiffCmd(a *app) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "diff BEFORE.json AFTER.json",
		Short: "Show what changed from one report to another",
		Long: `Show which cases changed their status from one report to another, and which numbers
moved. The exit code is 1 when a case that passed no longer does, else 0.`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			before, err := readReport(args[0])
			if err != nil {
				return err
			}
			after, err := readReport(args[1])
			if err != nil {
				return err
			}
			return a.evalDiff(eval.Compare(before, after), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) evalDiff(c eval.Comparison, asJSON bool) error {
	var err error
	if asJSON {
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(c)
	} else {
		err = printDiff(a.stdout, c)
	}
	if err == nil && c.Worse > 0 {
		return &exitError{eval.ExitFailed, nil}
	}
	return err
}

func printDiff(w io.Writer, c eval.Comparison) error {
	var errs []error
	line := func(format string, args ...any) {
		_, err := io.WriteString(w, report.Clean(fmt.Sprintf(format, args...))+"\n")
		errs = append(errs, err)
	}
	name := func(s eval.Status) string {
		if s == "" {
			return "(not there)"
		}
		return string(s)
	}
	for _, change := range c.Changes {
		line("%s: %s -> %s", change.ID, name(change.Before), name(change.After))
	}
	for _, m := range c.Metrics {
		line("%s: %s -> %s", m.Name, report.Number(m.Before), report.Number(m.After))
	}
	if len(c.Changes)+len(c.Metrics) == 0 {
		line("nothing changed")
	}
	if c.P != nil {
		line("%d better, %d worse, p = %s", c.Better, c.Worse, report.Number(c.P))
	}
	return errors.Join(errs...)
}
