package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"molar/internal/cli"
	"molar/internal/host"
	"molar/internal/serve"
	"molar/internal/terminal"
	"molar/internal/text"
	"molar/schemas"
)

// listMarks prints the marked answers.
func (a *app) listMarks(ctx context.Context, by host.Selection, format string) error {
	cfg, err := a.Load(nil)
	if err != nil {
		return err
	}
	marked, err := serve.Marked(ctx, cfg, schemas.FeedbackFilter{Mark: by.Marked, Assistant: by.Assistant, Since: by.Since, Limit: by.Limit})
	if err != nil {
		return err
	}
	if format == cli.JSON {
		return json.NewEncoder(a.Stdout).Encode(marked)
	}
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, m := range marked {
		_, _ = fmt.Fprintf(table, "%s\t%s %s\t%s\t%s\t%s\n", m.TurnID, m.Mark, byWhom(m.By), m.MarkedAt.Format(time.DateTime), terminal.Clean(m.Assistant), terminal.Clean(strings.Join(strings.Fields(m.Note), " ")))
	}
	return table.Flush()
}

// listSelected prints the selected turns, and why each was selected.
func (a *app) listSelected(ctx context.Context, by host.Selection, format string) error {
	cfg, err := a.Load(nil)
	if err != nil {
		return err
	}
	turns, err := serve.Selected(ctx, cfg, by)
	if err != nil {
		return err
	}
	if format == cli.JSON {
		return json.NewEncoder(a.Stdout).Encode(turns)
	}
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, t := range turns {
		printTurn(table, t.ListedTurn, strings.Join(t.Why, ", "))
	}
	return table.Flush()
}

// printTurn prints a line of a list of turns.
func printTurn(w io.Writer, t schemas.ListedTurn, why string) {
	question := ""
	if t.Question != nil {
		question = *t.Question
	}
	_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, why, strings.TrimSpace(t.Mark+" "+byWhom(t.MarkedBy)), t.At.Format(time.DateTime), terminal.Clean(t.Assistant), shortLine(question))
}

func shortLine(s string) string {
	return terminal.Clean(text.Truncate(strings.Join(strings.Fields(s), " "), 80))
}

// listTurns prints the turns of an outcome, or the questions that nobody could answer.
func (a *app) listTurns(ctx context.Context, by host.Selection, outcome string, gaps bool, format string) error {
	const most = 1000
	want := schemas.TurnFilter{Assistant: by.Assistant, Marked: by.Marked, Since: by.Since, Limit: cmp.Or(by.Limit, most)}
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
			_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", g.Count, g.Last.Format(time.DateTime), terminal.Clean(g.Assistant), shortLine(newest), shortLine(strings.Join(g.Words, " ")), shortLine(g.Reason))
		}
	default:
		for _, t := range turns {
			printTurn(table, t, string(t.Outcome))
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
