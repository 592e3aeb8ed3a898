package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"molar/eval"
	"molar/eval/report"
	"molar/eval/tape"
	"molar/internal/config"
)

// runFlags are the flags of eval run.
type runFlags struct {
	outFlags
	selectFlags
	liveModel, liveTools, live bool
	trials, parallel           int
	faults                     []string
	onMiss, provider, model    string
	quiet                      bool
}

// selectFlags choose among the cases of files.
type selectFlags struct {
	ids, tags []string
}

func (f *selectFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.ids, "id", nil, "only cases whose id matches this `glob`; may be repeated")
	cmd.Flags().StringArrayVar(&f.tags, "tag", nil, "only cases with this `tag`; may be repeated")
}

// pick keeps the chosen cases.
func (f *selectFlags) pick(cases []eval.Case) ([]eval.Case, error) {
	for _, glob := range f.ids {
		if _, err := path.Match(glob, ""); err != nil {
			return nil, &exitError{exitUsage, fmt.Errorf("--id %q: %w", glob, err)}
		}
	}
	kept := slices.DeleteFunc(slices.Clone(cases), func(c eval.Case) bool {
		id := len(f.ids) == 0 || slices.ContainsFunc(f.ids, func(glob string) bool {
			ok, _ := path.Match(glob, c.ID)
			return ok
		})
		tag := len(f.tags) == 0 || slices.ContainsFunc(f.tags, func(t string) bool { return slices.Contains(c.Tags, t) })
		return !id || !tag
	})
	if len(kept) == 0 {
		return nil, &exitError{eval.ExitNothing, fmt.Errorf("nothing was selected: %d cases were read", len(cases))}
	}
	return kept, nil
}

// outFlags are where reports go.
type outFlags struct {
	json, junit, html, markdown string
}

func (f *outFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.json, "json", "", "write the report as JSON to this `file`; - for standard output")
	cmd.Flags().StringVar(&f.junit, "junit", "", "write JUnit XML to this `file`")
	cmd.Flags().StringVar(&f.html, "html", "", "write an HTML page to this `file`")
	cmd.Flags().StringVar(&f.markdown, "markdown", "", "write a Markdown summary to this `file`")
}

// write writes every report that was asked for.
func (f *outFlags) write(a *app, r *eval.Report) error {
	for _, out := range []struct {
		file string
		form func(io.Writer, *eval.Report) error
	}{{f.json, report.JSON}, {f.junit, report.JUnit}, {f.html, report.HTML}, {f.markdown, report.Markdown}} {
		if out.file == "" {
			continue
		}
		if err := a.writeFile(out.file, func(w io.Writer) error { return out.form(w, r) }); err != nil {
			return &exitError{exitUsage, fmt.Errorf("write the report: %w", err)}
		}
	}
	return nil
}

// writeFile writes a file as a whole, or standard output for "-".
func (a *app) writeFile(name string, f func(io.Writer) error) (err error) {
	if name == "-" {
		return f(a.stdout)
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if err := errors.Join(f(file), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

func newEvalRunCmd(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] FILE|FOLDER...",
		Short: "Run cases: replay their tapes through the host and judge what happens",
		Long: `Run cases. Each is a conversation: the host answers it with a fresh store, while the
case's tape stands for the model service and the MCP servers. What the tape does not
have never goes live. With --live-model the real model is asked, with --live-tools the
real servers are called, with --live both.

Exit codes: 0 all well, 1 a check or a gate failed, 2 usage or an invalid file,
3 drift, 4 infrastructure, 5 nothing was selected.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.evalRun(cmd.Context(), f, args) },
	}
	flags := cmd.Flags()
	f.outFlags.add(cmd)
	f.selectFlags.add(cmd)
	flags.BoolVar(&f.liveModel, "live-model", false, "ask the real model; tools stay taped")
	flags.BoolVar(&f.liveTools, "live-tools", false, "call the real servers; the model stays taped")
	flags.BoolVar(&f.live, "live", false, "ask the real model and call the real servers")
	flags.IntVar(&f.trials, "trials", 0, "run each case so `many` times")
	flags.IntVar(&f.parallel, "parallel", 0, "run so `many` cases at once (default one for each CPU in a replay, else 1)")
	flags.StringArrayVar(&f.faults, "fault", nil, "lay a `fault` over every tape: tool:family__*=error, model:answer=disconnect#2, tool:*=delay:200ms; drop, delay, garble, error, disconnect")
	flags.StringVar(&f.onMiss, "on-miss", "", "fail or report: what a model request that differs from the tape gets")
	flags.StringVar(&f.provider, "provider", "", "`name` of the provider that a live model is asked of")
	flags.StringVar(&f.model, "model", "", "`name` of the live model")
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress and no table")
	return cmd
}

func (a *app) evalRun(ctx context.Context, f runFlags, paths []string) error {
	mode := eval.Mode{LiveModel: f.liveModel || f.live, LiveTools: f.liveTools || f.live}
	if never, ok := a.env("MOLAR_EVAL_RECORD"); ok && never == "never" && mode != (eval.Mode{}) {
		return &exitError{exitUsage, errors.New("MOLAR_EVAL_RECORD=never: nothing may go live here")}
	}
	cases, err := a.loadCases(paths, &f.selectFlags)
	if err != nil {
		return err
	}
	if f.onMiss != "" && f.onMiss != "fail" && f.onMiss != "report" {
		return &exitError{exitUsage, fmt.Errorf("--on-miss %q: choose fail or report", f.onMiss)}
	}
	for i := range cases {
		if f.onMiss != "" {
			cases[i].Policy.OnMiss = f.onMiss
		}
		if f.provider != "" || f.model != "" {
			cases[i].Provider, cases[i].Model = f.provider, f.model
		}
	}
	runner, err := a.runner(mode, f)
	if err != nil {
		return err
	}
	debug.SetGCPercent(chatGCPercent)
	rep, err := runner.Run(ctx, cases)
	if err != nil {
		return evalError(err)
	}
	return a.concludeReport(rep, &f.outFlags, f.quiet)
}

// loadCases reads cases and keeps the chosen ones.
func (a *app) loadCases(paths []string, chosen *selectFlags) ([]eval.Case, error) {
	cases, err := eval.Load(paths...)
	if err != nil {
		return nil, evalError(err)
	}
	return chosen.pick(cases)
}

// runner builds a runner over the hosts of this program.
func (a *app) runner(mode eval.Mode, f runFlags) (*eval.Runner, error) {
	log, err := a.logger(config.Telemetry{LogLevel: a.logLevel, LogFormat: a.logFormat}, slog.LevelError+4)
	if err != nil {
		return nil, err
	}
	var faults []tape.Fault
	for _, text := range f.faults {
		fault, err := tape.ParseFault(text)
		if err != nil {
			return nil, &exitError{exitUsage, fmt.Errorf("--fault: %w", err)}
		}
		faults = append(faults, fault)
	}
	parallel := f.parallel
	if parallel <= 0 && mode == (eval.Mode{}) {
		parallel = runtime.NumCPU()
	}
	cfg := eval.Config{
		Open: a.openEval(mode, log), Mode: mode, Skip: []string{memoryServer}, Parallel: parallel,
		Trials: f.trials, Faults: faults, Version: hostVersion(),
	}
	if !f.quiet && isTerminal(a.stderr) {
		cfg.Progress = func(done, total int, r eval.CaseResult) {
			end := "\r"
			if done == total {
				end = "\r\033[K"
			}
			_, _ = fmt.Fprintf(a.stderr, "\r\033[K%d of %d: %s%s", done, total, report.Clean(r.ID), end)
		}
	}
	return eval.New(cfg)
}

// evalError finds the exit code of a fault.
func evalError(err error) error {
	if _, ok := errors.AsType[*eval.InvalidError](err); ok {
		return &exitError{exitUsage, err}
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &exitError{eval.ExitInfra, err}
}
