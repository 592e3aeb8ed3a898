package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	yaml "github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"molar/eval"
	"molar/eval/report"
	"molar/eval/tape"
)

// acceptFlags are the flags of eval accept.
type acceptFlags struct {
	selectFlags
	yes, expect                bool
	liveModel, liveTools, live bool
}

func newEvalAcceptCmd(a *app) *cobra.Command {
	var f acceptFlags
	cmd := &cobra.Command{
		Use:   "accept [flags] FILE|FOLDER...",
		Short: "Show how cases drifted from their tapes, and with --yes take it over",
		Long: `Run cases and record them anew. The tape's own answers are served, whatever is asked;
with --live-model, --live-tools or --live the real ones are. What differs is shown;
with --yes the new tape replaces the old one, and with --expect what happened replaces
the expectations too. The times of a tape that was played are those of the replay.

Exit codes: 0 nothing differs or it was taken over, 3 it differs and was not.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.evalAccept(cmd.Context(), f, args) },
	}
	flags := cmd.Flags()
	f.add(cmd)
	flags.BoolVar(&f.yes, "yes", false, "replace the tapes")
	flags.BoolVar(&f.expect, "expect", false, "replace the expectations as well; the case must be alone in its YAML file")
	flags.BoolVar(&f.liveModel, "live-model", false, "ask the real model")
	flags.BoolVar(&f.liveTools, "live-tools", false, "call the real servers")
	flags.BoolVar(&f.live, "live", false, "ask the real model and call the real servers")
	return cmd
}

func (a *app) evalAccept(ctx context.Context, f acceptFlags, paths []string) error {
	cases, err := a.loadCases(paths, &f.selectFlags)
	if err != nil {
		return err
	}
	mode := eval.Mode{LiveModel: f.liveModel || f.live, LiveTools: f.liveTools || f.live}
	runner, err := a.runner(mode, runFlags{quiet: true})
	if err != nil {
		return err
	}
	left := 0
	for i := range cases {
		changed, err := a.acceptCase(ctx, runner, &cases[i], f)
		if err != nil {
			return evalError(err)
		}
		if changed && !f.yes {
			left++
		}
	}
	if left > 0 {
		return &exitError{eval.ExitDrift, fmt.Errorf("%d cases differ; take it over with --yes", left)}
	}
	return nil
}

// acceptCase records a case anew beside its tape, and puts the new tape in its place
// when that is wanted.
func (a *app) acceptCase(ctx context.Context, runner *eval.Runner, c *eval.Case, f acceptFlags) (changed bool, err error) {
	name := c.TapeFile()
	next, err := os.CreateTemp(filepath.Dir(name), ".accept-*")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.Remove(next.Name()) }() // gone already when it was taken over
	causes, follows, seen, err := runner.Again(ctx, c, next)
	if err = errors.Join(err, next.Close()); err != nil {
		return false, err
	}
	changed = len(causes) > 0 || f.liveModel || f.liveTools || f.live
	if len(causes) == 0 {
		a.say("%s: no drift", report.Clean(c.ID))
	} else {
		_, err := fmt.Fprint(a.stdout, report.Clean(report.Failure(&eval.CaseResult{
			ID: c.ID, File: c.File, Line: c.Line, Status: eval.StatusDrift, Drift: causes, Follows: follows,
		})))
		if err != nil {
			return changed, err
		}
	}
	if !f.yes || !changed && !f.expect {
		return changed, nil
	}
	if err := os.Rename(next.Name(), name); err != nil {
		return changed, err
	}
	a.say("%s: the tape was replaced", report.Clean(c.ID))
	if f.expect {
		return changed, a.rewriteCase(c, seen)
	}
	return changed, nil
}

// rewriteCase writes the case's file with what was seen as expectations.
func (a *app) rewriteCase(c *eval.Case, seen []tape.Seen) error {
	alone, err := eval.Load(c.File)
	if err != nil {
		return err
	}
	if len(alone) != 1 || filepath.Ext(c.File) == ".jsonl" {
		return &eval.InvalidError{Err: fmt.Errorf("%s:%d: --expect: the case is not alone in its file; change its expectations by hand", c.File, c.Line)}
	}
	only := alone[0]
	only.Expected(seen)
	data, err := yaml.MarshalWithOptions(only, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true))
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.File, data, 0o600); err != nil {
		return err
	}
	a.say("%s: the expectations were replaced", report.Clean(c.ID))
	return nil
}
