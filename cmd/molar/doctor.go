package main

import (
	"strings"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/host"
	"molar/internal/setup"
	"molar/internal/terminal"
	"molar/providers"
)

func newDoctorCmd(a *app) *cobra.Command {
	var format string
	var live liveFlags
	cmd := &cobra.Command{
		Use:   "doctor [--live [PROVIDER]]",
		Short: "Check settings, model, servers, store, ports and permissions, and show the remedy for each fault",
		Long: `Check settings, model, servers, store, ports and permissions, and show the remedy for each fault.

Servers are started and stopped again, unless a running host can report on them. No
model is called. The exit code is 1 when a check failed.

With --live the model itself is tried instead, with some twenty small checks: tools and
their arguments and results, a schema, the language, the judge of the topics, pictures,
long prompts, the prompt cache and the speed. PROVIDER is another one than a turn would
use now. Before a service that is not on this machine is asked, it says about how much
that takes, and asks you. The exit code is 1 when the model is of no use for tools.`,
		Example: `  molar doctor
  molar doctor --live
  molar doctor --live ollama --model qwen3:8b
  molar doctor --live openai --yes --output-format json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(fixed(providers.WithModels()...)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if err := live.check(cmd.Flags(), args); err != nil {
				return cli.Usage(err)
			}
			if live.on {
				return a.tryModel(cmd.Context(), live, strings.Join(args, ""), format)
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
	live.register(cmd.Flags())
	return cmd
}

func (a *app) printChecks(findings []setup.Finding, format string) error {
	if format == cli.JSON {
		return a.PrintJSON(findings)
	}
	for _, f := range findings {
		text, words, _ := strings.Cut(f.Text, "\n")
		a.Say("%-4s  %-11s  %s", f.Level, f.Part, terminal.Clean(text))
		for line := range strings.Lines(words) {
			a.Say("%-4s  %-11s  | %s", "", "", terminal.Clean(strings.TrimSpace(line)))
		}
		if f.Remedy != "" {
			a.Say("%-4s  %-11s  -> %s", "", "", terminal.Clean(cli.Typed(f.Remedy)))
		}
	}
	return nil
}
