package run

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"molar/eval"
	"molar/internal/cli"
)

// evalSweep runs cases with all faults and prints the results.
func (a *Commands) evalSweep(ctx context.Context, runner *eval.Runner, cases []eval.Case, f Flags, live bool) error {
	if live && !f.Quiet {
		n, err := eval.SweepSize(cases)
		if err != nil {
			return evalError(err)
		}
		a.Note("live: up to %d times as often: each fault at each call is a run", n)
	}
	swept, err := eval.Sweep(ctx, runner, cases)
	if err != nil {
		return evalError(err)
	}
	if f.JSON != "" {
		if err := a.writeFile(f.JSON, func(w io.Writer) error { return eval.JSON(w, swept) }); err != nil {
			return cli.Usage(fmt.Errorf("write the report: %w", err))
		}
	}
	if f.JSON != "-" {
		if err := printSweep(a.Stdout, swept); err != nil {
			return err
		}
	}
	switch {
	case len(swept.Rows) == 0:
		return cli.Exit(eval.ExitNothing)
	case len(swept.Faults) > 0:
		return cli.Exit(eval.ExitFailed)
	}
	return nil
}

func printSweep(w io.Writer, s *eval.SweepResult) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "edge\tfault\truns\theld\ttold\totherwise\twrong\tnot asked again\t")
	line := func(r eval.SweepRow) {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", r.Edge, r.Kind, r.Runs, r.Held, r.Told, r.Otherwise, r.Wrong, r.NotAsked)
	}
	sum := eval.SweepRow{Edge: "all"}
	for _, r := range s.Rows {
		line(r)
		sum.Runs, sum.Held, sum.Told, sum.Otherwise = sum.Runs+r.Runs, sum.Held+r.Held, sum.Told+r.Told, sum.Otherwise+r.Otherwise
		sum.Wrong, sum.NotAsked = sum.Wrong+r.Wrong, sum.NotAsked+r.NotAsked
	}
	line(sum)
	if err := table.Flush(); err != nil {
		return err
	}
	if sum.NotAsked > 0 {
		if _, err := fmt.Fprintln(w, "not asked again: the host went on, but no model saw what the fault left, so nothing is known of the answer; --from-drift live asks"); err != nil {
			return err
		}
	}
	for _, f := range s.Faults {
		if _, err := fmt.Fprintln(w, eval.Clean(fmt.Sprintf("%s, %s: %s", f.Case, f.Fault, f.Why))); err != nil {
			return err
		}
	}
	return nil
}
