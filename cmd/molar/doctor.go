package main

import (
	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/host"
	"molar/internal/setup"
	"molar/internal/terminal"
)

func newDoctorCmd(a *app) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check settings, model, servers, store, ports and permissions, and show the remedy for each fault",
		Long: `Check settings, model, servers, store, ports and permissions, and show the remedy for each fault.

Servers are started and stopped again, unless a running host can report on them. No
model is called. The exit code is 1 when a check failed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			findings := setup.Examine(cmd.Context(), setup.ExamineOptions{CLI: a.CLI, Attach: host.AttachWait})
			failed := false
			for _, f := range findings {
				failed = failed || f.Level == setup.Fail
			}
			if err := a.printChecks(findings, format); err != nil {
				return err
			}
			if failed {
				return cli.Exit(cli.Failure)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "output-format", cli.Text, "text or json")
	completeFlag(cmd, "output-format", fixed(cli.Text, cli.JSON))
	return cmd
}

func (a *app) printChecks(findings []setup.Finding, format string) error {
	if format == cli.JSON {
		return a.PrintJSON(findings)
	}
	for _, f := range findings {
		a.Say("%-4s  %-11s  %s", f.Level, f.Part, terminal.Clean(f.Text))
		if f.Remedy != "" {
			a.Say("%-4s  %-11s  -> %s", "", "", terminal.Clean(f.Remedy))
		}
	}
	return nil
}
