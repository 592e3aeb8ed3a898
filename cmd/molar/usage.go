package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/schemas"
)

func newUsageCmd(a *app) *cobra.Command {
	var by, since string
	var asJSON, asCSV bool
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Add up what model calls used, and what it cost",
		Long: `Add up what model calls used, and what it cost.

Days are in UTC. Costs are known for models with a price in the config. The line without a
name is the operator's own use, and that of people who were erased.`,
		Example: `  molar usage --by model --since 7d
  molar usage --by group --since 2026-01-01 --csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(schemas.UsageBy(), by) {
				return cli.Usage(fmt.Errorf("--by %q: choose one of %s", by, strings.Join(schemas.UsageBy(), ", ")))
			}
			from, err := auditTime("--since", since, time.Now())
			if err != nil {
				return cli.Usage(err)
			}
			cfg, err := a.Load(nil)
			if err != nil {
				return err
			}
			db, err := openExisting(cmd, cfg.Database())
			if err != nil {
				return err
			}
			lines, err := db.Usage(cmd.Context(), from)
			if err = errors.Join(err, db.Close()); err != nil {
				return err
			}
			return a.printUsage(by, schemas.SumUsage(lines, by), asJSON, asCSV)
		},
	}
	cmd.Flags().StringVar(&by, "by", "person", strings.Join(schemas.UsageBy(), ", "))
	cmd.Flags().StringVar(&since, "since", "30d", "only from this `time` on: a date, or how long ago, such as 30d")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print CSV")
	cmd.MarkFlagsMutuallyExclusive("json", "csv")
	return cmd
}

func (a *app) printUsage(by string, rows []schemas.UsageRow, asJSON, asCSV bool) error {
	switch {
	case asJSON:
		return a.PrintJSON(rows)
	case asCSV:
		return schemas.WriteUsageCSV(a.Stdout, by, rows)
	case len(rows) == 0:
		a.Say("no model was asked")
		return nil
	}
	out := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%s\tcalls\tprompt\tcached\tanswer\tcost\n", by)
	for _, r := range rows {
		name := r.Name
		if name == "" {
			name = "-"
		}
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%s\n", name, r.Calls, r.Prompt, r.Cached, r.Completion, r.Cost)
	}
	return out.Flush()
}
