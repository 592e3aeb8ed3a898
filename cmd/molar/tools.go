package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"molar/agent/offer"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/session"
	"molar/internal/terminal"
	"molar/internal/text"
	"molar/mcpclients"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// toolsFlags are the flags of all tools commands.
type toolsFlags struct {
	format  string
	mcp     []string
	trace   bool
	timeout time.Duration
	elicit  mcpclients.Elicitor // shows the servers' questions to a person; nil cancels them
	look    bool                // computes nothing for folders of knowledge
	quiet   bool                // logs errors only: the command itself tells the state of its servers
	tells   bool                // the command tells what is wrong with its servers, so no warning does
}

const toolsHelp = `List, call and check the tools of the attached MCP servers, those of the config and
those of --mcp. With --trace, each JSON-RPC message is printed on standard error as
it passes, "->" to a server and "<-" from it with the time it took; ids are the
trace's own, and secrets of the config are masked.`

func newToolsCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Short: "List, call and check the tools of the attached servers", Long: toolsHelp, Args: onlyCommands, RunE: showHelp}
	var f toolsFlags
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.format, "output-format", cli.Text, "text or json")
	flags.StringArrayVar(&f.mcp, "mcp", nil, "attach an MCP server: `NAME=\"command line\"` or NAME=https://address; may be repeated")
	flags.BoolVar(&f.trace, "trace", false, "print the JSON-RPC messages on standard error")
	completeFlag(cmd, "output-format", fixed(cli.Text, cli.JSON))
	cmd.AddCommand(newToolsListCmd(a, &f), newToolsCallCmd(a, &f), newLintCmd(a, &f))
	return cmd
}

func newToolsListCmd(a *app, f *toolsFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tools of all servers, with the policy of each",
		Example: `  molar tools list --mcp family="molar example family"
  molar tools list --output-format json | jq '.[].name'`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(f.format); err != nil {
				return err
			}
			return a.withServers(cmd.Context(), *f, func(_ context.Context, h *host.Host) error {
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
like a model's; running the command is the approval, and you answer at the terminal what
the server asks during the call.

The result is printed as JSON, the time on standard error. The exit code is 1 when
the tool reports an error, 130 when the call was interrupted.`,
		Example: `  molar tools call family__search_family '{"query":"Nguyen"}' --mcp family="molar example family"
  molar tools call search_family --trace - < arguments.json`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: first(words(a.toolNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(f.format); err != nil {
				return err
			}
			arguments := append(args, "{}")[1]
			if arguments == "-" {
				var err error
				if arguments, err = cli.ReadAll(a.Stdin); err != nil {
					return cli.Usage(err)
				}
			}
			with := *f
			with.elicit = session.Questions(a.CLI)
			return a.withServers(cmd.Context(), with, func(ctx context.Context, h *host.Host) error {
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

// withServers attaches all servers and runs f. It warns once of each that is not ready: the log, which has its
// fault without the remedy, says it only if a log level was asked for.
func (a *app) withServers(ctx context.Context, with toolsFlags, f func(context.Context, *host.Host) error) error {
	cfg, err := a.LoadWithServers(nil, with.mcp)
	if err != nil {
		return err
	}
	with.quiet = true
	if cfg.Telemetry.LogLevel == "" { // else the host's own log says it
		log, err := a.Logger(cfg.Telemetry, slog.LevelWarn)
		if err != nil {
			return err
		}
		host.WarnExposed(cfg, log)
	}
	h, err := a.openHost(ctx, cfg, with)
	if err != nil {
		return err
	}
	defer h.Close()
	for _, s := range h.MCP.Status() {
		if !with.tells && s.State != schemas.StateReady && s.State != schemas.StateDisabled {
			_, _ = fmt.Fprintln(a.Stderr, terminal.Fit(a.Stderr, terminal.Clean("warning: "+a.hint(host.ServerLine(s)))))
		}
	}
	return f(ctx, h)
}

// openHost opens a host for one command, and waits for its servers.
func (a *app) openHost(ctx context.Context, cfg *config.Config, with toolsFlags) (*host.Host, error) {
	opts := host.Options{AttachWait: host.AttachWait, Elicit: with.elicit, Look: with.look, Once: true}
	if opts.Elicit == nil { // a server lists the same tools as to a host that serves: others would be withheld there as new
		opts.Elicit = host.AskNobody
	}
	if with.trace {
		opts.Wrap = (&host.Wire{Trace: a.Stderr, Redact: host.Redactor(cfg)}).Dial
	}
	level := slog.LevelWarn
	if with.quiet {
		level = slog.LevelError
	}
	log, err := a.Logger(cfg.Telemetry, level)
	if err != nil {
		return nil, err
	}
	h, err := host.Open(ctx, cfg, log, opts)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, host.AttachWait)
	defer cancel()
	if err := h.MCP.Wait(wait, nil); err != nil && ctx.Err() != nil {
		h.Close()
		return nil, ctx.Err()
	}
	return h, nil
}

func (a *app) listTools(h *host.Host, format string) error {
	tools := h.MCP.Catalogue().Tools()
	if format == cli.JSON {
		infos := make([]schemas.ToolInfo, len(tools))
		for i, t := range tools {
			infos[i] = t.ToolInfo
		}
		return a.PrintJSON(infos)
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, t := range tools {
		policy := t.Rules.Policy
		if policy == "" {
			policy = schemas.PolicyAuto
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, policy, terminal.Preview(t.Description))
	}
	return w.Flush()
}

// callTool runs one call through the same checks as a model's. It needs no approval, because
// the person has typed it.
func (a *app) callTool(ctx context.Context, h *host.Host, name, arguments string) error {
	tool, ok := h.MCP.Catalogue().Lookup(name)
	if !ok {
		for _, s := range h.MCP.Status() {
			if s.State == schemas.StateFailed && strings.HasPrefix(name, s.Name+"__") {
				return cli.With(cli.Failure, fmt.Errorf("there is no tool %q: server %s", name, a.hint(host.ServerLine(s))))
			}
		}
		return cli.Usage(fmt.Errorf("there is no tool %q; see: %s", name, a.hint("molar tools list")))
	}
	tool.Rules.Policy, tool.Rules.Approvers = schemas.PolicyAllow, nil // the operator of this machine
	handler, err := toolhandler.New(toolhandler.Config{Caller: h.MCP, Logger: h.Log})
	if err != nil {
		return err
	}
	turn := handler.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}})
	call := schemas.ToolCall{ID: uuid.NewString(), Function: schemas.FunctionCall{Name: tool.Name, Arguments: arguments}}
	for out := range turn.Execute(ctx, []schemas.ToolCall{call}) {
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err() // an interrupted call has no result to print
		}
		if err := a.PrintJSON(out.Result); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(a.Stderr, "%s: %s in %s\n", terminal.Clean(tool.Name), out.Status, out.Result.Duration.Round(10*time.Microsecond))
		if out.Result.IsError {
			return cli.Exit(cli.Failure)
		}
	}
	return nil
}

func newLintCmd(a *app, f *toolsFlags) *cobra.Command {
	var schemasToo, forget, marks bool
	cmd := &cobra.Command{
		Use:   "lint [--forget [NAME...]]",
		Short: "Show how each tool is classified, and what providers' schema rules change in it",
		Long: `Show, for each attached tool, whether the policy auto classifies it as reading, only
adding or writing, and why, how much of a long description models are shown, and how many
tokens all of them take. For each provider, show what was changed in its input schema to
make it fit, and which tools are refused, by these rules or, in an earlier turn, by the
provider's service. A model's arguments are always checked against the tool's own schema,
but for parts that cannot be used, which are named. The exit code is 1 when a tool is
refused.

A tool that a service refused is not offered to that service for a day, or until the tool
changes. --forget offers the named tools, or all, again at once, also in a running host.

--marks prints, for each server, what Molar proposes to say about it in the config, as lines
to paste: whether it is public or closed, which tools read or only add, and which arguments
are free text. molar servers approve NAME confirms the same without the config.`,
		Example: `  molar tools lint --mcp mine="./my-server"
  molar tools lint --schemas --output-format json > findings.json
  molar tools lint --forget family__search_family`,
		Args: func(cmd *cobra.Command, args []string) error {
			if forget {
				return nil
			}
			return cobra.NoArgs(cmd, args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(f.format); err != nil {
				return err
			}
			return a.withServers(cmd.Context(), *f, func(ctx context.Context, h *host.Host) error {
				if forget {
					if err := a.forgetRefusals(ctx, h, args); err != nil {
						return err
					}
				}
				if marks {
					return a.lintMarks(h, f.format)
				}
				return a.lint(h, f.format, schemasToo)
			})
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "offer the tools again that services refused")
	cmd.Flags().BoolVar(&marks, "marks", false, "print what to say about each server in the config")
	cmd.Flags().BoolVar(&schemasToo, "schemas", false, "print each schema before and after")
	return cmd
}

// lintMarks prints what is proposed about each server.
func (a *app) lintMarks(h *host.Host, format string) error {
	proposals := []schemas.Proposal{}
	for _, s := range h.MCP.Status() {
		if p := h.Propose(s); p != nil && !slices.Contains(config.ReservedServers(), s.Name) {
			proposals = append(proposals, *p)
		}
	}
	if format == cli.JSON {
		return a.PrintJSON(proposals)
	}
	for i, line := range toolhandler.MarkLines(proposals) {
		if i == 0 {
			a.Say("# Check each line: code guesses what a tool does, and you know.")
		}
		a.Say("%s", terminal.Clean(line))
	}
	return nil
}

// forgetRefusals forgets the refusals of services: of the named tools, or all.
func (a *app) forgetRefusals(ctx context.Context, h *host.Host, names []string) error {
	if len(names) == 0 {
		names = []string{""}
	}
	var forgotten []schemas.Refusal
	for _, name := range names {
		stood, err := h.Refusals.Forget(ctx, name)
		if err != nil {
			return err
		}
		forgotten = append(forgotten, stood...)
	}
	for _, r := range forgotten {
		_, _ = fmt.Fprintf(a.Stderr, "%s is offered to %s again\n", terminal.Clean(r.Tool), r.Provider)
	}
	if len(forgotten) == 0 {
		_, _ = fmt.Fprintln(a.Stderr, "no service has refused such a tool of late")
	}
	return nil
}

func (a *app) lint(h *host.Host, format string, schemasToo bool) error {
	tools := h.MCP.Catalogue().Tools()
	findings, refused := toolhandler.Tools(tools, providers.Lowerings(), h.RefusedBy, schemasToo)
	told := offer.CutDescriptions(offer.Infos(tools), h.Config.Limits.ToolTokens, h.Config.Limits.Tools)
	for i, f := range findings {
		if remark := told[f.Tool]; remark != "" {
			findings[i].Remarks = append(findings[i].Remarks, remark)
		}
	}
	if err := a.printFindings(findings, format); err != nil {
		return err
	}
	if format == cli.Text {
		room := "8000 tokens, or a quarter of the model's window if that is less"
		if n := h.Config.Limits.ToolTokens; n > 0 {
			room = fmt.Sprintf("%d tokens (limits.tool_tokens)", n)
		}
		a.Say("%s take about %d tokens; there is room for %s", text.Counted(len(tools), "tool"), offer.Size(offer.Infos(tools))/offer.TokenBytes, room)
	}
	if format == cli.Text {
		for _, s := range h.MCP.Status() {
			for _, alike := range s.Alike {
				a.Say("beware: %s: %s", terminal.Clean(s.Name), terminal.Clean(alike))
			}
			if s.Unconfirmed {
				a.Say("%s", terminal.Clean(a.hint(fmt.Sprintf("%s: nobody has confirmed this list: molar servers approve %[1]s, or paste the lines of molar tools lint --marks", s.Name))))
			}
		}
	}
	if refused > 0 {
		return cli.With(cli.Failure, fmt.Errorf("%d offers are refused", refused))
	}
	return nil
}

func (a *app) printFindings(findings []toolhandler.Finding, format string) error {
	if format == cli.JSON {
		return a.PrintJSON(findings)
	}
	for i, f := range findings {
		if i == 0 || findings[i-1].Tool != f.Tool {
			a.Say("%s %s: %s", terminal.Clean(f.Tool), f.Class, terminal.Clean(f.Why))
			for _, arg := range f.Arguments {
				a.Say("  %s: %s", terminal.Clean(arg.Path), arg.Use)
			}
			for _, remark := range f.Remarks {
				a.Say("  %s", terminal.Clean(remark))
			}
		}
		verdict := "unchanged"
		switch {
		case f.Refused != "":
			verdict = "refused: " + f.Refused
		case len(f.Notes) > 0:
			verdict = text.Counted(len(f.Notes), "change")
		}
		a.Say("%s for %s: %s", terminal.Clean(f.Tool), f.Provider, terminal.Clean(verdict))
		for _, note := range f.Notes {
			a.Say("  %s", terminal.Clean(note))
		}
		if f.Before != nil {
			a.Say("  before: %s\n  after:  %s", terminal.Clean(string(f.Before)), terminal.Clean(string(f.After)))
		}
	}
	return nil
}
