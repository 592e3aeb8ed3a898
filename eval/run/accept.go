package run

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/text"
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
	runner, err := a.runner(mode, Flags{Quiet: true, LiveFlags: f.LiveFlags}, cases)
	if err != nil {
		return err
	}
	defer runner.Close()
	var list []replacement
	failed, invalid := 0, 0
	for i := range cases {
		r, err := a.rerecord(ctx, runner, &cases[i], f)
		switch {
		case a.noteInvalid(err):
			invalid++
		case err != nil:
			return withInvalid(invalid, evalError(err))
		case !r.accepted:
			failed++
		case r.diff != "":
			list = append(list, r)
		}
	}
	err = a.replace(list, f, runner.Redact)
	if failed > 0 {
		err = errors.Join(err, cli.With(eval.ExitInfra, fmt.Errorf("%d cases could not be recorded as they should be, and were left as they are; --allow-failure takes them over all the same", failed)))
	}
	return withInvalid(invalid, err)
}

// A replacement is a new tape.
type replacement struct {
	c        *eval.Case
	tape     []byte
	turns    []tape.Turn
	accepted bool
	first    bool   // there is no old tape
	diff     string // from the old tape; empty if there is none
	named    string // what the list's name is made of: the diff without the reasons of judges, who may word them anew
}

// rerecord records a case again, and prints the difference.
func (a *Commands) rerecord(ctx context.Context, runner *eval.Runner, c *eval.Case, f AcceptFlags) (replacement, error) {
	r := replacement{c: c}
	var b bytes.Buffer
	recording, err := runner.Rerecord(ctx, c, &b)
	if err == nil {
		r.tape, err = tape.Tidy(c.TapeFile(), b.Bytes())
	}
	if err != nil {
		return r, err
	}
	r.turns, r.first = recording.Now, len(recording.Was) == 0
	if why := f.rejected(recording); len(why) > 0 {
		a.printRejected(c.ID, strings.Split(runner.Redact(strings.Join(why, "\n")), "\n"))
		return r, nil
	}
	r.accepted = true
	now := strings.Split(runner.Redact(strings.Join(eval.Describe(recording.Now), "\n")), "\n")
	changes := eval.Changed(eval.Describe(recording.Was), now)
	if len(recording.Causes)+len(changes)+len(recording.Verdicts) == 0 && !r.first { // live, no request was compared
		if changes, err = changedTape(c, r.tape); err != nil {
			return r, err
		}
	}
	if len(recording.Causes)+len(changes)+len(recording.Verdicts) == 0 && !f.Expect {
		a.Say("%s: no difference", c.ID)
		return r, nil
	}
	r.diff = c.ID + ":\n" + eval.Causes(recording.Causes) + strings.Join(append(changes, ""), "\n")
	r.named = r.diff
	for _, v := range recording.Verdicts {
		r.diff += "  " + eval.VerdictText(v) + "\n"
		r.named += fmt.Sprintf("turn %d, %s: %s %s\n", v.Turn, v.Name, v.Verdict.Result, v.Verdict.Changed)
	}
	r.diff = eval.Clean(r.diff)
	_, err = fmt.Fprint(a.Stdout, r.diff)
	return r, err
}

// changedTape returns what differs between the tape of a case and another one.
func changedTape(c *eval.Case, data []byte) ([]string, error) {
	was, err := c.ReadTape()
	if err != nil {
		return nil, err
	}
	now, err := tape.Read(c.TapeFile(), data)
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
func (a *Commands) printRejected(id string, why []string) {
	for _, line := range why {
		a.Note("%s: not recorded: %s", id, line)
	}
}

// printLiveCalls prints what a live run will call.
func (a *Commands) printLiveCalls(cases []eval.Case, mode eval.Mode) {
	if !mode.IsLive() {
		return
	}
	for _, line := range eval.LiveCalls(cases, mode) {
		a.Note("%s", line)
	}
}

// replace replaces the old tapes by new ones, if the person confirms the differences that were
// shown.
func (a *Commands) replace(list []replacement, f AcceptFlags, redact func(string) string) error {
	if len(list) == 0 {
		return nil
	}
	var shown strings.Builder
	for _, r := range list {
		shown.WriteString(r.named)
	}
	sum := sha256.Sum256([]byte(shown.String()))
	name := hex.EncodeToString(sum[:4])
	switch {
	case f.Yes == name:
	case f.Yes != "":
		return cli.With(eval.ExitDrift, fmt.Errorf("--yes %s: the list above is another one, and nothing was replaced; take exactly this over with --yes %s", f.Yes, name))
	case !a.confirm("write " + text.Counted(len(list), "tape")):
		return cli.With(eval.ExitDrift, fmt.Errorf("%s differing; take exactly this over with --yes %s", text.Counted(len(list), "case"), name))
	}
	texts := make([][]byte, len(list)) // nothing is replaced before all texts exist
	for i, r := range list {
		if !f.Expect {
			continue
		}
		text, err := rewrittenCase(r.c, r.turns)
		if err != nil {
			return evalError(err)
		}
		texts[i] = []byte(redact(string(text)))
	}
	for i, r := range list {
		err := os.MkdirAll(filepath.Dir(r.c.TapeFile()), 0o750)
		if err == nil {
			err = replaceFile(r.c.TapeFile(), 0o600, func(w io.Writer) error {
				_, err := w.Write(r.tape)
				return err
			})
		}
		if err != nil {
			return err
		}
		a.Say("%s: the tape was %s", r.c.ID, map[bool]string{true: "written", false: "replaced"}[r.first])
		if !f.Expect {
			continue
		}
		if err := os.WriteFile(r.c.File, texts[i], 0o600); err != nil {
			return err
		}
		a.Say("%s: the expectations were replaced", r.c.ID)
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
