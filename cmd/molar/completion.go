package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/store"
	"molar/internal/terminal"
	"molar/schemas"
)

// Completions come from the config, the store and a running host; no server is
// started for them, and what cannot be read completes to nothing.

type completer = func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective)

// words completes to those that a function finds.
func words(find func(ctx context.Context) []string) completer {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		return having(start, slices.Clone(find(ctx))), cobra.ShellCompDirectiveNoFileComp
	}
}

func fixed(all ...string) completer {
	return words(func(context.Context) []string { return all })
}

// first completes only the first argument.
func first(complete completer) completer {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, start)
	}
}

// completeFlag ignores the error that only an unknown flag gives.
func completeFlag(cmd *cobra.Command, flag string, complete completer) {
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}

func completeChat(a *app, cmd *cobra.Command) {
	completeFlag(cmd, "assistant", words(a.assistantNames))
	completeFlag(cmd, "provider", fixed("auto", "gemini", "openai", "ollama", "offline"))
	completeFlag(cmd, "output-format", fixed(formatText, formatJSON, formatStream))
	completeFlag(cmd, "conversation", words(a.conversationIDs))
	completeFlag(cmd, "resume", words(a.conversationIDs))
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if resume, _ := cmd.Flags().GetString("resume"); resume == resumeChoose && len(args) == 0 {
			return words(a.conversationIDs)(cmd, args, start) // "--resume ID"
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) assistantNames(context.Context) []string {
	cfg, err := a.loadConfig(nil)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range cfg.Assistants {
		names = append(names, entry.Name)
	}
	return names
}

func (a *app) serverNames(context.Context) []string {
	cfg, err := a.loadConfig(nil)
	if err != nil {
		return nil
	}
	names := []string{memoryServer, toolServer}
	for _, entry := range cfg.MCPServers {
		names = append(names, entry.Name)
	}
	return names
}

// toolNames asks a running host. Without one, a server's name and "__" is all that is
// known.
func (a *app) toolNames(ctx context.Context) []string {
	if far, err := a.findHost(""); err == nil {
		var list struct {
			Data []schemas.ToolInfo `json:"data"`
		}
		data, err := a.askHost(ctx, far, "/v1/tools")
		if err == nil && json.Unmarshal(data, &list) == nil {
			var names []string
			for _, t := range list.Data {
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

// conversationIDs reads the store, if there is one already. A title stands behind each,
// as shells show it.
func (a *app) conversationIDs(ctx context.Context) []string {
	cfg, err := a.loadConfig(nil)
	if err != nil || cfg.Memory.URL != "" {
		return nil
	}
	if _, err := os.Stat(cfg.Memory.Store); err != nil {
		return nil
	}
	db, err := store.Open(ctx, store.Config{Path: cfg.Memory.Store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil
	}
	defer db.Close()
	page, err := db.List(ctx, store.ListRequest{Limit: recentCount})
	if err != nil {
		return nil
	}
	var ids []string
	for _, c := range page.Conversations {
		ids = append(ids, c.ID+"\t"+preview(terminal.Clean(c.Title)))
	}
	return ids
}
