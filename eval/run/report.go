package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"molar/eval"
	"molar/internal/cli"
)

// forms are the ways to show an outcome: a report or a matrix.
type forms[T interface{ ExitCode() int }] struct {
	text                  func(w io.Writer, outcome T, full bool) error
	junit, html, markdown func(w io.Writer, outcome T) error
}

// ofReport returns the forms of reports. The base of the Markdown may be nil.
func ofReport(base *eval.Report) forms[*eval.Report] {
	markdown := func(w io.Writer, r *eval.Report) error { return eval.Markdown(w, r, base) }
	return forms[*eval.Report]{eval.Text, eval.JUnit, eval.HTML, markdown}
}

// write writes each form that the flags name a file for.
func (f forms[T]) write(a *Commands, outcome T, out *OutFlags) error {
	for _, form := range []struct {
		file  string
		write func(io.Writer, T) error
	}{{out.JSON, eval.JSON[T]}, {out.JUnit, f.junit}, {out.HTML, f.html}, {out.Markdown, f.markdown}} {
		if form.file == "" {
			continue
		}
		if err := a.writeFile(form.file, func(w io.Writer) error { return form.write(w, outcome) }); err != nil {
			return cli.Usage(fmt.Errorf("write the report: %w", err))
		}
	}
	return nil
}

// show prints an outcome, unless the flags name files for it.
func (f forms[T]) show(a *Commands, outcome T, out *OutFlags, full bool) error {
	if *out != (OutFlags{}) {
		return f.write(a, outcome, out)
	}
	return f.text(a.Stdout, outcome, full)
}

// conclude prints and writes the outcome of a run, and returns its exit code as an error.
func (f forms[T]) conclude(a *Commands, outcome T, of Flags) error {
	if !of.Quiet && of.JSON != "-" && of.Markdown != "-" {
		if err := f.text(a.Stdout, outcome, of.Full); err != nil {
			return err
		}
	}
	if err := f.write(a, outcome, &of.OutFlags); err != nil {
		return err
	}
	if code := outcome.ExitCode(); code != 0 {
		return cli.Exit(code)
	}
	return nil
}

// readReport reads a report from a JSON file, or a matrix.
func readReport(name string) (*eval.Report, *eval.Matrix, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	var rep eval.Report
	var m eval.Matrix
	if err := errors.Join(json.Unmarshal(data, &rep), json.Unmarshal(data, &m)); err != nil {
		return nil, nil, cli.Usage(fmt.Errorf("%s: no report: %w", name, err))
	}
	switch {
	case rep.V == 0 || len(rep.Cases)+len(m.Columns) == 0: // a run without cases writes none
		return nil, nil, cli.Usage(fmt.Errorf("%s: no report: it has no version, or no case", name))
	case rep.V > eval.ReportVersion:
		return nil, nil, cli.Usage(fmt.Errorf("%s: the report has version %d, this program reads up to %d", name, rep.V, eval.ReportVersion))
	case len(m.Columns) == 0:
		return &rep, nil, nil
	}
	if err := m.Check(); err != nil {
		return nil, nil, cli.Usage(fmt.Errorf("%s: no report: %w", name, err))
	}
	return nil, &m, nil
}

// evalDiff prints a comparison unless it is written to files, as JSON here. It fails if a case became worse.
func (a *Commands) evalDiff(c eval.Comparison, out *OutFlags) error {
	var err error
	switch {
	case out.JSON != "":
		err = a.writeFile(out.JSON, func(w io.Writer) error { return eval.JSON(w, c) })
	case out.Markdown == "":
		a.printDiff(c)
	}
	if err == nil && c.Worse > 0 {
		return cli.Exit(eval.ExitFailed)
	}
	return err
}

func (a *Commands) printDiff(c eval.Comparison) {
	for i, when := range []string{"before", "after"} {
		r := c.Runs[i]
		a.Say("%s: %s in %.2f s", when, strings.Join(append([]string{r.Mode}, r.Models...), ", "), r.TookMS/1000)
	}
	for _, change := range c.Changes {
		a.Say("%s: %s → %s", change.ID, cmp.Or(change.Before, "(not there)"), cmp.Or(change.After, "(not there)"))
	}
	for _, o := range c.Turns {
		a.Say("%s: %s\n%s", o.ID, o.Outcome, strings.Join(o.Lines, "\n"))
	}
	if len(c.Turns) > 0 {
		a.Say("%s", c.Counts())
	}
	for _, m := range c.Metrics {
		a.Say("%s", m)
	}
	if len(c.Changes)+len(c.Turns)+len(c.Metrics) == 0 {
		a.Say("nothing changed")
	}
	if c.Better+c.Worse > 0 {
		a.Say("%d better, %d worse", c.Better, c.Worse)
	}
}

// Report shows or converts a saved report, or compares two. As Markdown two are a report on the later one,
// with what changed.
func (a *Commands) Report(files []string, out *OutFlags, full bool) error {
	rep, m, err := readReport(files[0])
	if err != nil {
		return err
	}
	if len(files) == 2 {
		later, other, err := readReport(files[1])
		if err != nil {
			return err
		}
		if m != nil || other != nil {
			return cli.Usage(errors.New("two reports of one variant each are compared; a matrix is shown alone"))
		}
		if err := ofReport(rep).write(a, later, &OutFlags{Markdown: out.Markdown}); err != nil {
			return err
		}
		return a.evalDiff(eval.Compare(rep, later), out)
	}
	if m != nil {
		return ofMatrix().show(a, m, out, full)
	}
	return ofReport(nil).show(a, rep, out, full)
}
