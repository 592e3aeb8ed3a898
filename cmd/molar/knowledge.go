package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"molar/internal/host"
	"molar/internal/serve"
	"molar/internal/terminal"
	"molar/schemas"
)

// fewUnread is how many unread files of a folder are named at first.
const fewUnread = 10

func newKnowledgeCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "knowledge", Short: "Show what was read of the folders of knowledge", Args: onlyCommands, RunE: showHelp}
	var listen string
	var asJSON, all bool
	status := &cobra.Command{
		Use:   "status",
		Short: "Show what was read of each folder, which files were not and why, and how far its vectors are",
		Long: `Show what was read of each folder, which files were not and why, and how far its vectors are.

A running host is asked; without one this command reads the folders, for their words alone.`,
		Example:           "  molar knowledge status\n  molar knowledge status --all",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if far, err := serve.Find(a.CLI, listen); err == nil {
				folders, err := far.Knowledge(cmd.Context())
				if err == nil {
					return a.printKnowledge(folders, asJSON, all)
				}
				a.noteRefused(err)
			}
			return a.withServers(cmd.Context(), toolsFlags{look: true}, func(ctx context.Context, h *host.Host) error {
				folders, err := host.Knowledge{Manager: h.MCP}.Read(ctx)
				if err != nil {
					return err
				}
				return a.printKnowledge(folders, asJSON, all)
			})
		},
	}
	status.Flags().StringVar(&listen, "listen", "", "`address` of the running host (default the config's)")
	status.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	status.Flags().BoolVar(&all, "all", false, "name every file that is not read, of at most 200")
	cmd.AddCommand(status)
	return cmd
}

func (a *app) printKnowledge(folders []schemas.KnowledgeStatus, asJSON, all bool) error {
	switch {
	case asJSON:
		return a.PrintJSON(folders)
	case len(folders) == 0:
		a.Say("there are no folders of knowledge; see docs/knowledge.md")
		return nil
	}
	out := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "folder\tread\tpassages\tnot read\tthreshold\tby meaning")
	for _, k := range folders {
		fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%s\t%s\n", k.Name, k.State(), k.Passages, k.UnreadFiles, threshold(k), meaning(k))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, k := range folders {
		if k.UnreadFiles > 0 {
			a.Say("\n%s: not read, or only in part:", k.Name)
		}
		shown := k.Unread
		if !all {
			shown = shown[:min(fewUnread, len(shown))]
		}
		for _, u := range shown {
			a.Say("  %s", terminal.Clean(u.String()))
		}
		switch left := k.UnreadFiles - len(shown); {
		case left > 0 && all:
			a.Say("  and %d more", left)
		case left > 0:
			a.Say("  and %d more: molar knowledge status --all", left)
		}
		if k.Meaning != nil && k.Meaning.Problem != "" {
			a.Say("\n%s: words alone are compared: %s", k.Name, terminal.Clean(k.Meaning.Problem))
		}
	}
	return nil
}

// threshold says which share of a question a passage must hold.
func threshold(k schemas.KnowledgeStatus) string {
	switch {
	case k.Threshold == 0:
		return "-"
	case k.Learned:
		return fmt.Sprintf("%.2f, learned", k.Threshold)
	}
	return fmt.Sprintf("%.2f", k.Threshold)
}

// meaning says how far the vectors are.
func meaning(k schemas.KnowledgeStatus) string {
	m := k.Meaning
	if m == nil {
		return "-"
	}
	return fmt.Sprintf("%d of %d, %s (%s)", m.Done, m.Passages, terminal.Clean(m.Model), m.Provider)
}
