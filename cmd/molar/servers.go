package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"molar/internal/config"
	"molar/schemas"
)

func newServersCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "servers", Short: "Look at the attached MCP servers", Args: onlyCommands, RunE: showHelp}
	var format string
	list := &cobra.Command{
		Use:   "list",
		Short: "List the servers with state and reason, of a running host or by attaching them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadConfig(nil)
			if err != nil {
				return err
			}
			if status, err := runningServers(cmd.Context(), cfg); err == nil {
				return a.listServers(status, format)
			}
			return a.withServers(cmd.Context(), nil, func(_ context.Context, h *host) error {
				return a.listServers(h.mcp.Status(), format)
			})
		},
	}
	list.Flags().StringVar(&format, "output-format", formatText, "text or json")
	cmd.AddCommand(list)
	return cmd
}

// runningServers asks the host that listens, if one does.
func runningServers(ctx context.Context, cfg *config.Config) ([]schemas.ServerStatus, error) {
	data, err := askHost(ctx, cfg.Listen, "/v1/servers")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []schemas.ServerStatus `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	return list.Data, nil
}

func (a *app) listServers(status []schemas.ServerStatus, format string) error {
	if format == formatJSON {
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(status)
	}
	for _, s := range status {
		a.say("%s", clean(serverLine(s)))
		for _, skipped := range s.Skipped {
			a.say("  left out: %s", clean(skipped))
		}
	}
	return nil
}
