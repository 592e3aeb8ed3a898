package run

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
	"slices"

	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/schemas"
)

// Flags are the flags of eval run.
type Flags struct {
	OutFlags
	SelectFlags
	LiveFlags
	Trials, Parallel        int
	Faults                  []string
	OnMiss, Provider, Model string
	Quiet, Full, Score      bool
	FromDrift               string
	Sweep                   bool
}

// LiveFlags select what is asked for real. Judge is "live" to ask the judge of each check, or "".
type LiveFlags struct {
	LiveModel, LiveTools, Live bool
	Judge                      string
}

func (f *LiveFlags) mode() eval.Mode {
	return eval.Mode{LiveModel: f.LiveModel || f.Live, LiveTools: f.LiveTools || f.Live}
}

// SelectFlags select cases.
type SelectFlags struct {
	IDs, Tags []string
}

// pick returns the selected cases.
func (f *SelectFlags) pick(cases []eval.Case) ([]eval.Case, error) {
	for _, glob := range f.IDs {
		if _, err := path.Match(glob, ""); err != nil {
			return nil, cli.Usage(fmt.Errorf("--id %q: %w", glob, err))
		}
	}
	selected := slices.DeleteFunc(slices.Clone(cases), func(c eval.Case) bool {
		id := len(f.IDs) == 0 || slices.ContainsFunc(f.IDs, func(glob string) bool {
			ok, _ := path.Match(glob, c.ID)
			return ok
		})
		tag := len(f.Tags) == 0 || slices.ContainsFunc(f.Tags, func(t string) bool { return slices.Contains(c.Tags, t) })
		return !id || !tag
	})
	if len(selected) == 0 {
		return nil, cli.With(eval.ExitNothing, fmt.Errorf("nothing was selected: %d cases were read", len(cases)))
	}
	return selected, nil
}

// OutFlags name the files of reports.
type OutFlags struct {
	JSON, JUnit, HTML string
}

// write writes every requested report.
func (f *OutFlags) write(a *Commands, r *eval.Report) error {
	for _, out := range []struct {
		file string
		form func(io.Writer, *eval.Report) error
	}{{f.JSON, eval.JSON[*eval.Report]}, {f.JUnit, eval.JUnit}, {f.HTML, eval.HTML}} {
		if out.file == "" {
			continue
		}
		if err := a.writeFile(out.file, func(w io.Writer) error { return out.form(w, r) }); err != nil {
			return cli.Usage(fmt.Errorf("write the report: %w", err))
		}
	}
	return nil
}

// writeFile writes a file atomically, or to standard output if the name is "-".
func (a *Commands) writeFile(name string, f func(io.Writer) error) (err error) {
	if name == "-" {
		return f(a.Stdout)
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

// Run runs cases, or scores their tapes, and reports. The error carries the exit code of
// [eval.Report] or of a failure.
func (a *Commands) Run(ctx context.Context, f Flags, paths []string) error {
	mode := f.mode()
	mode.FromDrift = f.FromDrift
	if f.FromDrift != "" && (mode.LiveModel || f.FromDrift != eval.FromDriftLive && f.FromDrift != eval.FromDriftOffline) {
		return cli.Usage(fmt.Errorf("--from-drift %q: choose live or offline, with --live-tools or without", f.FromDrift))
	}
	if err := f.checkJudge(); err != nil {
		return err
	}
	if mode.IsLive() || f.Judge != "" {
		if err := a.mayRecord(); err != nil {
			return err
		}
	}
	cases, err := a.loadCases(paths, &f.SelectFlags)
	if err != nil {
		return err
	}
	if f.Score {
		rep, err := eval.Score(cases)
		if err != nil {
			return evalError(err)
		}
		return a.concludeReport(rep, &f.OutFlags, f.Quiet, f.Full)
	}
	if f.OnMiss != "" && f.OnMiss != "fail" && f.OnMiss != "report" {
		return cli.Usage(fmt.Errorf("--on-miss %q: choose fail or report", f.OnMiss))
	}
	if f.Sweep && (mode.LiveModel || mode.LiveTools) {
		return cli.Usage(errors.New("--fault-sweep lays its faults over tapes: leave out --live-model, --live-tools and --live; --from-drift asks a model behind each fault"))
	}
	if (f.Provider != "" || f.Model != "") && !mode.LiveModel && mode.FromDrift != eval.FromDriftLive {
		return cli.Usage(errors.New("--provider and --model choose who is asked: give --live-model or --from-drift live with them"))
	}
	if !f.Quiet {
		if err := a.printLiveCalls(cases, mode); err != nil {
			return err
		}
		a.noteJudge(cases, &f.LiveFlags)
	}
	for i := range cases {
		if f.OnMiss != "" {
			cases[i].Policy.OnMiss = f.OnMiss
		}
		if f.Provider != "" || f.Model != "" {
			cases[i].Provider, cases[i].Model = f.Provider, f.Model
		}
	}
	runner, err := a.runner(mode, f)
	if err != nil {
		return err
	}
	defer runner.Close()
	cli.CollectLess()
	if f.Sweep {
		return a.evalSweep(ctx, runner, cases, f, mode.IsLive())
	}
	rep, err := runner.Run(ctx, cases)
	if err != nil {
		return evalError(err)
	}
	return a.concludeReport(rep, &f.OutFlags, f.Quiet, f.Full)
}

// loadCases loads cases and returns the selected ones.
func (a *Commands) loadCases(paths []string, chosen *SelectFlags) ([]eval.Case, error) {
	cases, err := eval.Load(paths...)
	if err != nil {
		return nil, evalError(err)
	}
	return chosen.pick(cases)
}

// runner builds a runner that opens hosts of this program.
func (a *Commands) runner(mode eval.Mode, f Flags) (*eval.Runner, error) {
	log, err := a.Logger(config.Telemetry{LogLevel: a.LogLevel, LogFormat: a.LogFormat}, slog.LevelError+4)
	if err != nil {
		return nil, err
	}
	var faults []tape.Fault
	for _, text := range f.Faults {
		fault, err := tape.ParseFault(text)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--fault: %w", err))
		}
		faults = append(faults, fault)
	}
	parallel := f.Parallel
	if parallel <= 0 && !mode.IsLive() && f.Judge == "" {
		parallel = runtime.NumCPU()
		if f.Sweep { // most of the time is spent waiting for retries
			parallel *= 8
		}
	}
	pool := &storePool{log: log}
	cfg := eval.Config{
		Open: a.openEval(mode, log, pool), Close: pool.close, Mode: mode, Skip: []string{schemas.MemoryServer}, Parallel: parallel,
		Trials: f.Trials, Faults: faults, Version: cli.Version(), Judge: a.judgeOf(log), AskJudge: f.Judge != "",
	}
	if !f.Quiet && cli.IsTerminal(a.Stderr) {
		cfg.Progress = func(done, total int, r eval.CaseResult) {
			end := "\r"
			if done == total {
				end = "\r\033[K"
			}
			_, _ = fmt.Fprintf(a.Stderr, "\r\033[K%d of %d: %s%s", done, total, eval.Clean(r.ID), end)
		}
	}
	return eval.New(cfg)
}

// mayRecord returns an error if MOLAR_EVAL_RECORD forbids recording: then nothing may be live,
// and no case or tape is written.
func (a *Commands) mayRecord() error {
	if never, _ := a.Env("MOLAR_EVAL_RECORD"); never == "never" {
		return cli.Usage(errors.New("MOLAR_EVAL_RECORD=never: nothing may go live here, and no case or tape be written; unset it"))
	}
	return nil
}

// evalError adds the exit code to an error.
func evalError(err error) error {
	if _, ok := errors.AsType[*eval.InvalidError](err); ok {
		return cli.Usage(err)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return cli.With(eval.ExitInfra, err)
}
