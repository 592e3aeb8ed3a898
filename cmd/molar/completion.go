package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/serve"
	"molar/internal/session"
	"molar/internal/store"
	"molar/internal/terminal"
)

// Completions come from the config, the store and a running host. They start no server, and
// a source that cannot be read gives none.

func completeChat(a *app, cmd *cobra.Command) {
	completeFlag(cmd, "assistant", words(a.assistantNames))
	completeFlag(cmd, "provider", fixed(config.ProviderNames()...))
	completeFlag(cmd, "output-format", fixed(cli.Text, cli.JSON, cli.StreamJSON))
	completeFlag(cmd, "conversation", words(a.conversationIDs))
	completeFlag(cmd, "resume", words(a.conversationIDs))
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if resume, _ := cmd.Flags().GetString("resume"); resume == session.ResumeChoose && len(args) == 0 {
			return words(a.conversationIDs)(cmd, args, start) // "--resume ID"
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) assistantNames(context.Context) []string {
	cfg, err := a.Load(nil)
	if err != nil {
		return nil
	}
	return cfg.Assistants.Names()
}

func (a *app) serverNames(context.Context) []string {
	cfg, err := a.Load(nil)
	if err != nil {
		return nil
	}
	return append(config.ReservedServers(), cfg.MCPServers.Names()...)
}

// toolNames asks a running host. Without one, it returns only the prefixes of the names: each
// server's name and "__".
func (a *app) toolNames(ctx context.Context) []string {
	if far, err := serve.Find(a.CLI, ""); err == nil {
		if tools, err := far.Tools(ctx); err == nil {
			var names []string
			for _, t := range tools {
				names = append(names, t.Name)
			}
			return names
		}
	}
	var names []string
	for _, name := range a.serverNames(ctx) {
		names = append(names, strings.ReplaceAll(name, " ", "_")+"__")
	}
	return names
}

// conversationIDs reads the store, if it exists already. A tab and the title follow each ID,
// which shells show as its description.
func (a *app) conversationIDs(ctx context.Context) []string {
	cfg, err := a.Load(nil)
	if err != nil || cfg.Memory.URL != "" {
		return nil
	}
	if _, err := os.Stat(cfg.Memory.Store); err != nil {
		return nil
	}
	db, err := store.Open(ctx, store.Config{Path: cfg.Memory.Store})
	if err != nil {
		return nil
	}
	defer db.Close()
	page, err := db.List(ctx, store.ListRequest{Limit: session.RecentCount})
	if err != nil {
		return nil
	}
	var ids []string
	for _, c := range page.Conversations {
		ids = append(ids, c.ID+"\t"+terminal.Preview(c.Title))
	}
	return ids
}

// newManCmd writes the manual pages that archives carry; people read --help.
func newManCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a folder",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o750); err != nil {
				return fmt.Errorf("make the folder of the manual: %w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // the same text for the same version
			if err := doc.GenManTree(root, &doc.GenManHeader{Title: "MOLAR", Section: "1", Source: "molar " + cli.Version(), Manual: "Molar"}, args[0]); err != nil {
				return fmt.Errorf("write the manual: %w", err)
			}
			a.Say("wrote the manual into %s", args[0])
			return nil
		},
	}
}
