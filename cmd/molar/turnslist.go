package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"molar/eval/run"
	"molar/internal/cli"
	"molar/internal/serve"
	"molar/internal/terminal"
	"molar/internal/text"
	"molar/schemas"
)

// listTurns prints the turns of an outcome, or the questions that nobody could answer.
func (a *app) listTurns(ctx context.Context, f run.MarkedFlags, outcome string, gaps bool, format string) error {
	marked, err := f.Filter(time.Now())
	if err != nil {
		return err
	}
	const most = 1000
	want := schemas.TurnFilter{Assistant: f.Assistant, Marked: f.Marked, Since: marked.Since, Limit: most}
	switch known := schemas.Outcome(outcome); {
	case outcome == "" || outcome == "any":
	case !slices.Contains(schemas.Outcomes(), known):
		return cli.Usage(fmt.Errorf("--outcome %q: choose any or one of %v", outcome, schemas.Outcomes()))
	default:
		want.Outcomes = []schemas.Outcome{known}
	}
	cfg, err := a.Load(nil)
	if err != nil {
		return err
	}
	var turns []schemas.ListedTurn
	var groups []schemas.Gap
	if gaps {
		groups, err = serve.Gaps(ctx, cfg, want.Since)
	} else {
		turns, err = serve.Turns(ctx, cfg, want)
	}
	if err != nil {
		return err
	}
	line := func(s string) string { return terminal.Clean(text.Truncate(strings.Join(strings.Fields(s), " "), 80)) }
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	switch {
	case gaps && format == cli.JSON:
		return json.NewEncoder(a.Stdout).Encode(groups)
	case format == cli.JSON:
		return json.NewEncoder(a.Stdout).Encode(turns)
	case gaps:
		for _, g := range groups {
			newest := "" // of a refused question nothing is kept
			if len(g.Examples) > 0 {
				newest = g.Examples[0].Question
			}
			_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", g.Count, g.Last.Format(time.DateTime), terminal.Clean(g.Assistant), line(newest), line(strings.Join(g.Words, " ")), line(g.Reason))
		}
	default:
		for _, t := range turns {
			question := ""
			if t.Question != nil {
				question = *t.Question
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Outcome, strings.TrimSpace(t.Mark+" "+byWhom(t.MarkedBy)), t.At.Format(time.DateTime), terminal.Clean(t.Assistant), line(question))
		}
	}
	return table.Flush()
}

// byWhom says whose mark it is.
func byWhom(by string) string {
	if by == "" {
		return ""
	}
	return "by " + by
}
