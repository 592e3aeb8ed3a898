package run

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/terminal"
)

// AcceptFlags are the flags of eval accept.
type AcceptFlags struct {
	SelectFlags
	LiveFlags
	Yes                  string
	Expect, AllowFailure bool
}

// Accept records cases again, shows the differences and, once confirmed, replaces their tapes.
func (a *Commands) Accept(ctx context.Context, f AcceptFlags, paths []string) error {
	cases, err := a.loadCases(paths, &f.SelectFlags)
	if err != nil {
		return err
	}
	mode := f.mode()
	if err := f.checkJudge(); err != nil {
		return err
	}
	if f.Yes != "" || mode != (eval.Mode{}) || f.Judge != "" {
		if err := a.mayRecord(); err != nil {
			return err
		}
	}
	a.printLiveCalls(cases, mode)
	a.noteJudge(cases, &f.LiveFlags, mode, 1)
	runner, err := a.runner(mode, Flags{Quiet: true, LiveFlags: f.LiveFlags})
	if err != nil {
		return err
	}
	defer runner.Close()
	var list []replacement
	defer func() {
		for _, r := range list {
			_ = os.Remove(r.file) // it no longer exists if it was accepted
		}
	}()
	failed, invalid := 0, 0
	for i := range cases {
		r, err := a.rerecord(ctx, runner, &cases[i], f)
		list = append(list, r)
		switch {
		case a.noteInvalid(err):
			invalid++
		case err != nil:
			return withInvalid(invalid, evalError(err))
		case !r.accepted:
			failed++
		}
	}
	err = a.replace(slices.DeleteFunc(slices.Clone(list), func(r replacement) bool { return !r.accepted || r.diff == "" }), f)
	if failed > 0 {
		err = errors.Join(err, cli.With(eval.ExitInfra, fmt.Errorf("%d cases could not be recorded as they should be, and were left as they are; --allow-failure takes them over all the same", failed)))
	}
	return withInvalid(invalid, err)
}

// A replacement is a new tape in the folder of the old one.
type replacement struct {
	c        *eval.Case
	file     string // the new tape's file
	turns    []tape.Turn
	accepted bool
	first    bool   // there is no old tape
	diff     string // from the old tape; empty if there is none
}

// rerecord records a case again, next to its tape, and prints the difference.
func (a *Commands) rerecord(ctx context.Context, runner *eval.Runner, c *eval.Case, f AcceptFlags) (replacement, error) {
	r := replacement{c: c}
	if err := os.MkdirAll(filepath.Dir(c.TapeFile()), 0o750); err != nil {
		return r, err
	}
	file, err := os.CreateTemp(filepath.Dir(c.TapeFile()), ".accept-*")
	if err != nil {
		return r, err
	}
	r.file = file.Name()
	recording, err := runner.Rerecord(ctx, c, file)
	if err = errors.Join(err, file.Close()); err == nil {
		err = tidyTape(r.file)
	}
	if err != nil {
		return r, err
	}
	r.turns, r.first = recording.Now, len(recording.Was) == 0
	if why := f.rejected(recording); len(why) > 0 {
		return r, a.printRejected(c.ID, why)
	}
	r.accepted = true
	changes := eval.Changed(eval.Describe(recording.Was), eval.Describe(recording.Now))
	for _, v := range recording.Verdicts {
		changes = append(changes, "  "+eval.VerdictText(v))
	}
	if len(recording.Causes)+len(changes) == 0 && !r.first { // live, no request was compared
		if changes, err = changedTape(c, r.file); err != nil {
			return r, err
		}
	}
	if len(recording.Causes)+len(changes) == 0 && !f.Expect {
		a.Say("%s: no difference", eval.Clean(c.ID))
		return r, nil
	}
	r.diff = eval.Clean(c.ID + ":\n" + eval.Causes(recording.Causes) + strings.Join(append(changes, ""), "\n"))
	_, err = fmt.Fprint(a.Stdout, r.diff)
	return r, err
}

// changedTape returns what differs between the tape of a case and another one.
func changedTape(c *eval.Case, file string) ([]string, error) {
	was, err := c.ReadTape()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	now, err := tape.Read(file, data)
	if err != nil {
		return nil, err
	}
	return eval.Changed(eval.Transcript(was), eval.Transcript(now)), nil
}

// rejected lists the reasons not to keep a recording. With --expect the checks of the case are
// rewritten, so they may fail.
func (f *AcceptFlags) rejected(recording *eval.Rerecording) []string {
	if f.AllowFailure {
		return nil
	}
	why := recording.Rejected
	if !f.Expect {
		for _, c := range recording.Failed {
			why = append(why, fmt.Sprintf("turn %d, %s: %s", c.Turn, c.Name, c.Text))
		}
	}
	return why
}

// printRejected prints why a recording is not kept.
func (a *Commands) printRejected(id string, why []string) error {
	var faults []error
	for _, line := range why {
		_, err := fmt.Fprintln(a.Stderr, eval.Clean(fmt.Sprintf("%s: not recorded: %s", id, line)))
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// printLiveCalls prints what a live run will call.
func (a *Commands) printLiveCalls(cases []eval.Case, mode eval.Mode) {
	if !mode.IsLive() {
		return
	}
	for _, line := range eval.LiveCalls(cases, mode) {
		a.Note("%s", eval.Clean(line))
	}
}

// replace replaces the old tapes by new ones, if the person confirms the differences that were
// shown.
func (a *Commands) replace(list []replacement, f AcceptFlags) error {
	if len(list) == 0 {
		return nil
	}
	var shown strings.Builder
	for _, r := range list {
		shown.WriteString(r.diff)
	}
	sum := sha256.Sum256([]byte(shown.String()))
	name := hex.EncodeToString(sum[:4])
	switch {
	case f.Yes == name:
	case f.Yes != "":
		return cli.With(eval.ExitDrift, fmt.Errorf("--yes %s: the list above is another one, and nothing was replaced; take exactly this over with --yes %s", f.Yes, name))
	case !a.confirm("write " + terminal.Counted(len(list), "tape")):
		return cli.With(eval.ExitDrift, fmt.Errorf("%s differing; take exactly this over with --yes %s", terminal.Counted(len(list), "case"), name))
	}
	texts := make([][]byte, len(list)) // nothing is replaced before all texts exist
	for i, r := range list {
		if !f.Expect {
			continue
		}
		var err error
		if texts[i], err = rewrittenCase(r.c, r.turns); err != nil {
			return evalError(err)
		}
	}
	for i, r := range list {
		if err := os.Rename(r.file, r.c.TapeFile()); err != nil {
			return err
		}
		a.Say("%s: the tape was %s", eval.Clean(r.c.ID), map[bool]string{true: "written", false: "replaced"}[r.first])
		if !f.Expect {
			continue
		}
		if err := os.WriteFile(r.c.File, texts[i], 0o600); err != nil {
			return err
		}
		a.Say("%s: the expectations were replaced", eval.Clean(r.c.ID))
	}
	return nil
}

// confirm asks the person at the terminal. It returns false if there is no terminal.
func (a *Commands) confirm(question string) bool {
	if !cli.IsTerminal(a.Stdin) || !cli.IsTerminal(a.Stderr) || a.mayRecord() != nil {
		return false
	}
	_, _ = fmt.Fprintf(a.Stderr, "%s? [y/N] ", question)
	answer, _ := bufio.NewReader(a.Stdin).ReadString('\n') // on an error the answer is not yes
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}

// rewrittenCase returns the case's file with what happened as its expectations.
func rewrittenCase(c *eval.Case, seen []tape.Turn) ([]byte, error) {
	alone, err := eval.Load(c.File)
	if err != nil {
		return nil, err
	}
	if len(alone) != 1 || filepath.Ext(c.File) == ".jsonl" {
		return nil, &eval.InvalidError{Err: fmt.Errorf("%s:%d: --expect: the case is not alone in its file; change its expectations by hand", c.File, c.Line)}
	}
	alone[0].ExpectObserved(seen)
	return caseText(alone[0])
}
