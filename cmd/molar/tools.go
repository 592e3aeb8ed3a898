package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"molar/internal/terminal"
	"molar/schemas"
	"molar/toolhandler"
)

// toolsFlags are the flags of all tools commands.
type toolsFlags struct {
	format  string
	mcp     []string
	trace   bool
	timeout time.Duration
}

const toolsHelp = `List, call and check the tools of the attached MCP servers, those of the config and
those of --mcp. With --trace, each JSON-RPC message is printed on standard error as
it passes, "->" to a server and "<-" from it with the time it took; ids are the
trace's own, and secrets of the config are masked.`

func newToolsCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Short: "List, call and check the tools of the attached servers", Long: toolsHelp, Args: onlyCommands, RunE: showHelp}
	var f toolsFlags
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.format, "output-format", formatText, "text or json")
	flags.StringArrayVar(&f.mcp, "mcp", nil, "attach an MCP server: `NAME=\"command line\"` or NAME=https://address; may be repeated")
	flags.BoolVar(&f.trace, "trace", false, "print the JSON-RPC messages on standard error")
	completeFlag(cmd, "output-format", fixed(formatText, formatJSON))
	cmd.AddCommand(newToolsListCmd(a, &f), newToolsCallCmd(a, &f), newLintCmd(a, &f))
	return cmd
}

func newToolsListCmd(a *app, f *toolsFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tools of all servers, with the policy of each",
		Example: `  molar tools list --mcp family="go run ./examples/family/server"
  molar tools list --output-format json | jq '.[].name'`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(f.format); err != nil {
				return err
			}
			return a.withTracedServers(cmd.Context(), *f, func(_ context.Context, h *host) error {
				return a.listTools(h, f.format)
			})
		},
	}
}

func newToolsCallCmd(a *app, f *toolsFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call NAME [ARGUMENTS]",
		Short: "Call a tool with arguments as a JSON object",
		Long: `Call a tool by its offered name, or by its own where only one server has it. The
arguments are a JSON object, or "-" to read it from standard input. They are checked
like a model's; you stand for the approval.

The result is printed as JSON, the time on standard error. The exit code is 1 when
the tool reports an error.`,
		Example: `  molar tools call family__search_family '{"query":"Nguyen"}' --mcp family="go run ./examples/family/server"
  molar tools call search_family --trace - < arguments.json`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: first(words(a.toolNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(f.format); err != nil {
				return err
			}
			arguments := append(args, "{}")[1]
			if arguments == "-" {
				var err error
				if arguments, err = readBounded(a.stdin); err != nil {
					return &exitError{exitUsage, err}
				}
			}
			return a.withTracedServers(cmd.Context(), *f, func(ctx context.Context, h *host) error {
				if f.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, f.timeout)
					defer cancel()
				}
				return a.callTool(ctx, h, args[0], arguments)
			})
		},
	}
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "give up on the call after this `duration`, such as 5s")
	return cmd
}

// withServers attaches all servers and runs f.
func (a *app) withServers(ctx context.Context, mcp []string, f func(context.Context, *host) error) error {
	return a.withTracedServers(ctx, toolsFlags{mcp: mcp}, f)
}

// withTracedServers is withServers, with a trace of what passes if it is asked for.
func (a *app) withTracedServers(ctx context.Context, with toolsFlags, f func(context.Context, *host) error) error {
	cfg, err := a.loadWithServers(nil, with.mcp)
	if err != nil {
		return err
	}
	opts := hostOptions{attachWait: chatAttachWait}
	if with.trace {
		opts.wrap = (&wire{trace: a.stderr, redact: redactorOf(cfg)}).dial
	}
	log, err := a.logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	h, err := openHost(ctx, cfg, log, opts)
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
			_, _ = fmt.Fprintln(a.stderr, terminal.Clean("warning: "+serverLine(s)))
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
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, policy, preview(terminal.Clean(t.Description)))
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
		_, _ = fmt.Fprintf(a.stderr, "%s: %s in %s\n", terminal.Clean(tool.Name), out.Status, out.Result.Duration.Round(10*time.Microsecond))
		if out.Result.IsError {
			return &exitError{exitFailure, nil}
		}
	}
	return nil
}
