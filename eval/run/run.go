package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	"molar/internal/host"
	"molar/internal/text"
	"molar/schemas"
)

// Flags are the flags of eval run.
type Flags struct {
	OutFlags
	SelectFlags
	LiveFlags
	Trials, Parallel int
	Faults           []string
	Provider, Model  string
	Quiet, Full      bool
	FromDrift        string
	// Models and Prompts make a matrix, of each model with each prompt: see [Commands.Run].
	Models, Prompts []string
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

// pick returns the selected cases. An invalid case whose id is unknown is always selected, since it may
// be the one that is meant.
func (f *SelectFlags) pick(cases []eval.Case) ([]eval.Case, error) {
	for _, glob := range f.IDs {
		if _, err := path.Match(glob, ""); err != nil {
			return nil, cli.Usage(fmt.Errorf("--id %q: %w", glob, err))
		}
	}
	selected := slices.DeleteFunc(slices.Clone(cases), func(c eval.Case) bool {
		if c.ID == "" {
			return false
		}
		id := len(f.IDs) == 0 || slices.ContainsFunc(f.IDs, func(glob string) bool {
			ok, _ := path.Match(glob, c.ID)
			return ok
		})
		tag := len(f.Tags) == 0 || slices.ContainsFunc(f.Tags, func(t string) bool { return slices.Contains(c.Tags, t) })
		return !id || !tag
	})
	if len(selected) == 0 {
		return nil, cli.With(eval.ExitNothing, fmt.Errorf("nothing was selected of %s", text.Counted(len(cases), "case")))
	}
	return selected, nil
}

// OutFlags name the files of reports.
type OutFlags struct {
	JSON, JUnit, HTML, Markdown string
}

// writeFile writes a file for others to read, to a device or pipe as it is, or to standard output if the name
// is "-".
func (a *Commands) writeFile(name string, f func(io.Writer) error) error {
	if name == "-" {
		return f(a.Stdout)
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // such as /dev/null, which stays what it is
		device, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(f(device), device.Close())
	}
	return replaceFile(name, 0o644, f)
}

// replaceFile writes a file as a whole or not at all, also where there is one.
func replaceFile(name string, mode fs.FileMode, f func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if err := errors.Join(f(file), file.Chmod(mode), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// Run runs cases and reports; with models or prompts it runs them under each. The error carries the exit code of
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
	compares := len(f.Models)+len(f.Prompts) > 0
	if mode.IsLive() || compares || f.Judge != "" {
		if err := a.mayRecord(); err != nil {
			return err
		}
	}
	cases, err := a.loadCases(paths, &f.SelectFlags)
	if err != nil {
		return err
	}
	if compares {
		return a.runMatrix(ctx, f, cases)
	}
	if len(f.Faults) > 0 && !mode.LiveModel && mode.FromDrift == "" {
		return cli.Usage(errors.New("--fault changes what a model reads, and a replay asks none: give --from-drift live, --from-drift offline or --live-model with it"))
	}
	if (f.Provider != "" || f.Model != "") && !mode.LiveModel && mode.FromDrift != eval.FromDriftLive {
		return cli.Usage(errors.New("--provider and --model choose who is asked: give --live-model or --from-drift live with them"))
	}
	if !f.Quiet {
		a.printLiveCalls(cases, mode)
		a.noteJudge(cases, &f.LiveFlags, mode, max(f.Trials, 1))
	}
	if f.Provider != "" || f.Model != "" {
		for i := range cases {
			cases[i].Provider, cases[i].Model = f.Provider, f.Model
		}
	}
	runner, err := a.runner(mode, f, cases)
	if err != nil {
		return err
	}
	defer runner.Close()
	cli.CollectLess()
	rep, err := runner.Run(ctx, cases)
	if err != nil {
		return evalError(err)
	}
	return ofReport(nil).conclude(a, rep, f)
}

// loadCases loads cases and returns the selected ones.
func (a *Commands) loadCases(paths []string, chosen *SelectFlags) ([]eval.Case, error) {
	cases, err := eval.Load(paths...)
	if err != nil {
		return nil, evalError(err)
	}
	return chosen.pick(cases)
}

// redactor returns what redacts what real services answer to cases, as it is when a case is recorded.
func (a *Commands) redactor(cases []eval.Case) *tape.Redactor {
	load, known := a.configs(), make(map[string]bool)
	var all []*config.Config
	for i := range cases {
		file := cmp.Or(cases[i].ConfigFile(), a.ConfigFile)
		if known[file] {
			continue
		}
		known[file] = true
		if cfg, err := load(file, true); err == nil { // else the case is invalid
			all = append(all, cfg)
		}
	}
	return host.Redactor(all...)
}

// runner builds a runner that opens hosts of this program for cases.
func (a *Commands) runner(mode eval.Mode, f Flags, cases []eval.Case) (*eval.Runner, error) {
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
	}
	pool := &storePool{log: log}
	cfg := eval.Config{
		Open: a.openEval(mode, log, pool), Close: pool.close, Mode: mode, Skip: []string{schemas.MemoryServer}, Parallel: parallel,
		Trials: f.Trials, Faults: faults, Version: cli.Version(), Judge: a.judgeOf(log), AskJudge: f.Judge != "", First: a.firstHeader(mode),
	}
	if mode.IsLive() || f.Judge != "" { // a replay has no secret
		cfg.Redactor = a.redactor(cases)
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

// mayRecord returns an error if MOLAR_EVAL_RECORD forbids recording: then no model is asked, no tool is
// called, and no case or tape is written. Servers may still be asked which tools they have.
func (a *Commands) mayRecord() error {
	if never, _ := a.Env("MOLAR_EVAL_RECORD"); never == "never" {
		return cli.Usage(errors.New("MOLAR_EVAL_RECORD=never: no model may be asked and no tool called here, and no case or tape be written; unset it"))
	}
	return nil
}

// noteInvalid prints an error about an invalid case, and reports whether it was one. The other cases
// are then worked on, and the command ends by [withInvalid].
func (a *Commands) noteInvalid(err error) bool {
	why, ok := errors.AsType[*eval.InvalidError](err)
	if ok {
		a.Note("%s", why.Error())
	}
	return ok
}

// withInvalid adds to how a command ended that some cases are invalid, whose exit code takes precedence.
func withInvalid(cases int, err error) error {
	if cases == 0 {
		return err
	}
	return cli.Usage(errors.Join(fmt.Errorf("%d cases are invalid", cases), err))
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
