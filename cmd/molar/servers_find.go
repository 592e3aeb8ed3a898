package main

import (
	"strings"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/setup"
	"molar/internal/terminal"
)

func newFindCmd(a *app, format *string) *cobra.Command {
	registry := setup.Registry{}
	var most int
	cmd := &cobra.Command{
		Use:   "find WORDS...",
		Short: "Look up servers in an MCP registry, with the command that adds each",
		Long: `Look up servers in an MCP registry, with the command that adds each.

It prints what the registry says about each server, and the line that would add it; words in
capitals are yours to choose. It starts and writes nothing. Anybody can publish a server:
read where a package comes from before you run its line. molar servers add then shows what
its tools do, and asks you to confirm it.`,
		Example: `  molar servers find weather
  molar servers find google calendar --registry https://registry.example.com`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(*format); err != nil {
				return err
			}
			if cfg, err := config.Load(a.Options(nil)); err == nil { // it works without settings too
				if registry.Client, err = host.Client(cfg.CAFile); err != nil {
					return err
				}
			}
			found, err := registry.Find(cmd.Context(), args, most)
			if err != nil {
				return err
			}
			if *format == cli.JSON {
				return a.PrintJSON(found)
			}
			a.sayFound(found, strings.Join(args, " "))
			return nil
		},
	}
	cmd.Flags().StringVar(&registry.URL, "registry", setup.OfficialRegistry, "`address` of the registry")
	cmd.Flags().IntVar(&most, "limit", 10, "the most `servers` to print")
	return cmd
}

func (a *app) sayFound(found []setup.Found, words string) {
	if len(found) == 0 {
		a.Say("%s", terminal.Clean("the registry has no server with "+words+" in its name"))
	}
	for i, f := range found {
		if i > 0 {
			a.Say("")
		}
		a.Say("%s %s", f.Name, f.Version)
		if f.Description != "" {
			a.Say("  %s", f.Description)
		}
		for _, way := range f.Ways {
			a.Say("  %s:\n    %s", way.How, way.Add)
			for _, need := range way.Needs {
				a.Say("      %s", terminal.Clean(need))
			}
		}
		if len(f.Ways) == 0 {
			a.Say("  nothing that Molar can start or reach")
		}
	}
}
