package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"molar/schemas"
	"molar/toolhandler"
)

func newToolsCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Short: "List and call the tools of the attached servers", Args: onlyCommands, RunE: showHelp}
	var (
		format string
		mcp    []string
	)
	flags := cmd.PersistentFlags()
	flags.StringVar(&format, "output-format", formatText, "text or json")
	flags.StringArrayVar(&mcp, "mcp", nil, "attach an MCP server: `NAME=\"command line\"` or NAME=https://address; may be repeated")
	list := &cobra.Command{
		Use:   "list",
		Short: "List the tools of all servers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withServers(cmd.Context(), mcp, func(ctx context.Context, h *host) error {
				return a.listTools(h, format)
			})
		},
	}
	call := &cobra.Command{
		Use:     "call NAME [ARGUMENTS]",
		Short:   "Call a tool with arguments as a JSON object",
		Example: `  molar tools call family__search_family '{"query":"Nguyen"}' --mcp family="go run ./examples/family/server"`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withServers(cmd.Context(), mcp, func(ctx context.Context, h *host) error {
				return a.callTool(ctx, h, append(args, "{}")[0], append(args, "{}")[1])
			})
		},
	}
	cmd.AddCommand(list, call, newLintCmd(a, &mcp, &format))
	return cmd
}

// withServers attaches all servers and runs f.
func (a *app) withServers(ctx context.Context, mcp []string, f func(context.Context, *host) error) error {
	cfg, err := a.loadWithServers(nil, mcp)
	if err != nil {
		return err
	}
	log, err := a.logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	h, err := openHost(ctx, cfg, log, hostOptions{attachWait: chatAttachWait})
	if err != nil {
		return err
	}
	defer h.Close()
	wait, cancel := context.WithTimeout(ctx, chatAttachWait)
	defer cancel()
	if err := h.mcp.Wait(wait, nil); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	for _, s := range h.mcp.Status() {
		if s.State != schemas.StateReady && s.State != schemas.StateDisabled {
			_, _ = fmt.Fprintln(a.stderr, clean("warning: "+serverLine(s)))
		}
	}
	return f(ctx, h)
}

func (a *app) listTools(h *host, format string) error {
	tools := h.mcp.Catalogue().Tools()
	if format == formatJSON {
		infos := make([]schemas.ToolInfo, len(tools))
		for i, t := range tools {
			infos[i] = t.ToolInfo
		}
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(infos)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, t := range tools {
		policy := t.Rules.Policy
		if policy == "" {
			policy = schemas.PolicyAuto
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, policy, preview(clean(t.Description)))
	}
	return w.Flush()
}

// callTool runs one call through the same checks as a model's. The person at the
// keyboard stands for the approval.
func (a *app) callTool(ctx context.Context, h *host, name, arguments string) error {
	tool, ok := h.mcp.Catalogue().Lookup(name)
	if !ok {
		return &exitError{exitUsage, fmt.Errorf("there is no tool %q; see: molar tools list", name)}
	}
	tool.Rules.Policy = schemas.PolicyAllow
	handler, err := toolhandler.New(toolhandler.Config{Caller: h.mcp, Logger: h.log})
	if err != nil {
		return err
	}
	turn := handler.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}})
	call := schemas.ToolCall{ID: uuid.NewString(), Function: schemas.FunctionCall{Name: tool.Name, Arguments: arguments}}
	for out := range turn.Execute(ctx, []schemas.ToolCall{call}) {
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		if err := enc.Encode(out.Result); err != nil {
			return err
		}
		if out.Result.IsError {
			return &exitError{exitFailure, nil}
		}
	}
	return nil
}
