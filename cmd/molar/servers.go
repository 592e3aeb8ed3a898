package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/host"
	"molar/internal/serve"
	"molar/internal/setup"
	"molar/internal/terminal"
	"molar/mcpclients/transport"
	"molar/schemas"
)

func newServersCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "servers", Short: "Find, add, remove, list, reload, approve and log in to MCP servers", Args: onlyCommands, RunE: showHelp}
	var format, listen string
	var trace bool
	flags := cmd.PersistentFlags()
	flags.StringVar(&format, "output-format", cli.Text, "text or json")
	flags.StringVar(&listen, "listen", "", "`address` of the running host (default the config's)")
	list := &cobra.Command{
		Use:   "list",
		Short: "List the servers with their state and its reason, of a running host or by attaching them",
		Long: `List the servers with their state and its reason, of a running host or by attaching them.

A server that failed says why in its own words: the lines that tell of an error, at most three.
With --output-format json they are all there.

With --trace this command always attaches them itself, prints each JSON-RPC message on standard
error, with the secrets of the config masked, and all that was kept of what the servers wrote.`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if far, err := serve.Find(a.CLI, listen); err == nil && !trace {
				status, err := far.Servers(cmd.Context())
				if err == nil {
					return a.listServers(status, format, host.ServerWords)
				}
				a.noteRefused(err)
			}
			words := host.ServerWords
			if trace {
				words = func(s schemas.ServerStatus) []string { return s.Stderr }
			}
			return a.withServers(cmd.Context(), toolsFlags{trace: trace, tells: true}, func(_ context.Context, h *host.Host) error {
				return a.listServers(h.Status(), format, words)
			})
		},
	}
	list.Flags().BoolVar(&trace, "trace", false, "print the JSON-RPC messages on standard error")
	completeFlag(cmd, "output-format", fixed(cli.Text, cli.JSON))
	reload := &cobra.Command{
		Use:   "reload",
		Short: "Let the running host read its config file again, and report what changed",
		Long: `Let the running host read its config file again, and report what changed.

Servers that did not change keep running. When the file is invalid, the last valid one
stays in force. The host also does this by itself when the file is saved.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			return a.reloadServers(cmd.Context(), listen, format)
		},
	}
	cmd.AddCommand(newFindCmd(a, &format), newAddCmd(a, &listen, &format), newRemoveCmd(a, &listen, &format), list, reload, newApproveCmd(a, &listen, &format), newLoginCmd(a, &format))
	return cmd
}

// hint returns a text whose commands can be run as they stand.
func (a *app) hint(text string) string { return host.Hint(a.CLI, text) }

// noteRefused notes that a host runs but refused the request.
func (a *app) noteRefused(err error) {
	if errors.Is(err, serve.ErrRefused) {
		a.Note("molar: %s; without it the servers are attached by this command", terminal.Clean(err.Error()))
	}
}

// listServers prints the servers, with the words of each.
func (a *app) listServers(status []schemas.ServerStatus, format string, words func(schemas.ServerStatus) []string) error {
	if format == cli.JSON {
		return a.PrintJSON(status)
	}
	for _, s := range status {
		line := host.ServerLine(s)
		if s.Protocol != "" && s.State == schemas.StateReady && s.Transport != transport.TypeInProcess {
			line += ", protocol " + s.Protocol
		}
		a.Say("%s", terminal.Clean(a.hint(line)))
		for _, line := range words(s) {
			a.Say("  | %s", terminal.Clean(line))
		}
		for _, skipped := range s.Skipped {
			a.Say("  left out: %s", terminal.Clean(skipped))
		}
		for _, alike := range s.Alike {
			a.Say("  beware: %s", terminal.Clean(alike))
		}
		for _, line := range s.Visitors {
			a.Say("  not for visitors of public: %s", terminal.Clean(line))
		}
		if s.Unconfirmed {
			a.Say("%s", terminal.Clean(a.hint("  nobody has confirmed what its tools do: molar servers approve "+s.Name)))
		}
		if len(s.Pending) > 0 {
			a.Say("%s", terminal.Clean("  withheld until approved: "+strings.Join(s.Pending, ", ")))
			a.Say("%s", terminal.Clean(a.hint("  see what is new, and decide: molar servers approve "+s.Name)))
		}
	}
	return nil
}

// reloadServers asks the running host to reload, and prints its answer.
func (a *app) reloadServers(ctx context.Context, listen, format string) error {
	far, err := serve.Find(a.CLI, listen)
	if err != nil {
		return err
	}
	done, err := far.Reload(ctx)
	if err != nil {
		return err
	}
	if format == cli.JSON {
		return a.PrintJSON(done)
	}
	changed := false
	for _, part := range []struct {
		what  string
		names []string
	}{
		{"added", done.Added},
		{"removed", done.Removed},
		{"restarted", done.Restarted},
		{"updated, without a restart", done.Updated},
		{"changed too, and takes effect when molar is started again", done.NeedsRestart},
	} {
		if len(part.names) > 0 {
			changed = true
			a.Say("%s", terminal.Clean(part.what+": "+strings.Join(part.names, ", ")))
		}
	}
	if !changed {
		a.Say("nothing changed")
	}
	if done.Offer != "" {
		a.Say("the assistant %s may call their tools: choose it in the page, or start molar again", done.Offer)
	}
	return nil
}

func newApproveCmd(a *app, listen, format *string) *cobra.Command {
	return &cobra.Command{
		Use:   "approve NAME",
		Short: "Confirm what a server's tools do, and approve those that changed",
		Long: `Confirm what a server's tools do, and approve those that changed.

While nobody has confirmed the list of a server's tools, what they say of themselves may
hold orders: calls of other servers' tools that may change something ask, and the server
counts as neither public nor closed. This command shows which tools read, which only add
and which arguments are free text, as Molar takes them, and asks once. To change the list,
put the lines of molar tools lint --marks into the config: they win.

Tools that are new or changed since they were first listed are withheld, unless the config
has trust: true or pin: false for their server. This command prints the changes of each,
line by line. At a terminal it asks before it approves; otherwise it approves at once.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(words(a.serverNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(*format); err != nil {
				return err
			}
			if far, err := serve.Find(a.CLI, *listen); err == nil {
				status, err := far.Servers(cmd.Context())
				if err == nil {
					return a.approve(cmd.Context(), *format, args[0], status, far)
				}
				a.noteRefused(err)
			}
			return a.withServers(cmd.Context(), toolsFlags{}, func(ctx context.Context, h *host.Host) error {
				return a.approve(ctx, *format, args[0], proposed(h), ownHost{h})
			})
		},
	}
}

// proposed returns the servers of a host, with what is proposed about those that nobody has confirmed.
func proposed(h *host.Host) []schemas.ServerStatus {
	status := h.MCP.Status()
	for i := range status {
		if status[i].Unconfirmed {
			status[i].Proposal = h.Propose(status[i])
		}
	}
	return status
}

// A markHolder puts in force what a person confirms about a server.
type markHolder interface {
	Confirm(ctx context.Context, confirmed schemas.Proposal) error
}

// A pinHolder lists the tools of pinned servers, and approves them.
type pinHolder interface {
	markHolder
	Tools(ctx context.Context) ([]schemas.ToolInfo, error)
	Approve(ctx context.Context, server, digest string) ([]string, error)
}

// approve prints what is withheld and what is proposed, and approves exactly that.
func (a *app) approve(ctx context.Context, format, name string, all []schemas.ServerStatus, from pinHolder) error {
	i := slices.IndexFunc(all, func(s schemas.ServerStatus) bool { return s.Name == name })
	if i < 0 {
		return cli.Usage(fmt.Errorf("no server is called %q; see: %s", name, a.hint("molar servers list")))
	}
	tools, err := from.Tools(ctx)
	if err != nil {
		return err
	}
	proposal := all[i].Proposal
	if format != cli.JSON {
		a.sayChanges(all[i].Changes)
		a.sayProposal(proposal)
	}
	var talk *setup.Dialogue
	if cli.IsTerminal(a.Stdin) {
		talk = &setup.Dialogue{In: bufio.NewReader(a.Stdin), Out: a.Stderr}
	}
	if len(all[i].Pending) > 0 && talk != nil {
		yes, err := talk.Confirm(ctx, "Take them as they are now?", false)
		if err != nil {
			return err
		}
		if !yes {
			a.Say("nothing was approved; they stay withheld")
			return nil
		}
	}
	approved, err := from.Approve(ctx, name, all[i].Digest)
	if err != nil && (proposal == nil || len(all[i].Pending) > 0) { // a server that is not pinned has marks too
		return err
	}
	confirmed, err := confirmMarks(ctx, talk, proposal, from)
	if err != nil {
		return err
	}
	if format == cli.JSON {
		return a.PrintJSON(map[string]any{"server": name, "approved": append([]string{}, approved...), "confirmed": confirmed})
	}
	a.sayConfirmed(name, confirmed)
	if len(approved) == 0 && !confirmed {
		a.Say("nothing of %s was withheld", terminal.Clean(name))
	}
	for _, tool := range tools {
		if tool.Server == name && slices.Contains(approved, tool.ToolName) {
			a.Say("approved: %s\n  %s\n  %s", terminal.Clean(tool.ToolName), terminal.Clean(tool.Description), terminal.Clean(string(tool.InputSchema)))
		}
	}
	return nil
}

// confirmMarks confirms what is proposed about a server, if anything, once the person agrees; a nil
// dialogue asks nobody.
func confirmMarks(ctx context.Context, talk *setup.Dialogue, p *schemas.Proposal, at markHolder) (bool, error) {
	if p == nil {
		return false, nil
	}
	if talk != nil {
		if yes, err := talk.Confirm(ctx, "Is this what its tools do?", false); err != nil || !yes {
			return false, err
		}
	}
	err := at.Confirm(ctx, *p)
	return err == nil, err
}

func (a *app) sayConfirmed(server string, confirmed bool) {
	if confirmed {
		a.Say("confirmed: what the tools of %s do", terminal.Clean(server))
	}
}

// sayProposal prints what is proposed about a server, if anything.
func (a *app) sayProposal(p *schemas.Proposal) {
	if p == nil {
		return
	}
	for _, line := range proposalLines(*p) {
		a.sayText(line)
	}
}

// sayText prints a text that may be foreign, wrapped between words at a terminal.
func (a *app) sayText(text string) { a.Say("%s", terminal.Fit(a.Stdout, terminal.Clean(text))) }

// proposalLines describes what is proposed about a server.
func proposalLines(p schemas.Proposal) []string {
	what := "It is neither public nor closed: its texts are private, and it may reach others."
	switch {
	case p.Public:
		what = "It is public: its readers fetch what the web shows to anybody."
	case p.Closed:
		what = "It is closed: it reaches nobody outside."
	}
	lines := []string{p.Server + ": " + what}
	for _, t := range p.Tools {
		does := "may change something, so it asks once text of others was read"
		switch {
		case t.Reads:
			does = "reads"
		case t.Adds:
			does = "only adds"
		}
		line := "  " + t.Tool + " " + does + ": " + t.Why
		if t.MayAdd && !t.Adds {
			line += "; if what it adds harms nobody, say adds: true in the config"
		}
		if t.Destroys {
			line += ", so it asks for each new destination; if it destroys nothing of value, say destructive: false in the config"
		}
		lines = append(lines, line)
		if len(t.Content) > 0 {
			lines = append(lines, "    free text: "+strings.Join(t.Content, ", "))
		}
	}
	return lines
}

// sayChanges prints the changes of withheld tools.
func (a *app) sayChanges(changes []schemas.ToolChange) {
	for _, c := range changes {
		a.Say("%s", terminal.Clean(c.Tool+":"))
		if c.Unknown {
			a.Say("  it was approved before, in another form that was not stored; now it is")
		}
		for _, line := range c.Diff {
			a.Say("%s", terminal.Clean("  "+line))
		}
	}
}

// ownHost approves in this process, when no host runs.
type ownHost struct{ *host.Host }

func (h ownHost) Tools(context.Context) ([]schemas.ToolInfo, error) {
	var infos []schemas.ToolInfo
	for _, t := range h.MCP.Catalogue().Tools() {
		infos = append(infos, t.ToolInfo)
	}
	return infos, nil
}

func (h ownHost) Approve(ctx context.Context, server, digest string) ([]string, error) {
	approved, err := h.MCP.Approve(ctx, server, digest)
	if err == nil && len(approved) > 0 {
		err = h.DB.Audit(ctx, schemas.AuditLine{Event: schemas.EventApproveServer, Server: server, Allowed: new(true), SHA256: digest, Detail: fmt.Sprintf("tools: %d", len(approved))})
	}
	return approved, err
}

func (h ownHost) Confirm(ctx context.Context, confirmed schemas.Proposal) error {
	if err := h.MCP.Confirm(ctx, confirmed); err != nil {
		return err
	}
	return h.DB.Audit(ctx, confirmed.Line())
}

func newLoginCmd(a *app, format *string) *cobra.Command {
	var f serve.Flags
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Log in to a server over HTTP that requires it, or log out",
		Long: `Log in to a server over HTTP that requires it (OAuth 2.1), or log out.

The address to open in a browser is printed on standard error, and opened if there is
one. The browser comes back to a port of this machine. On a machine without a browser
use --no-browser: open the address elsewhere, and paste the address that the browser
ends at, which begins with http://127.0.0.1, even if the page cannot be shown.

The login is stored in the host's own database. A running molar uses it within seconds
and renews it by itself; when it can no longer do so, the server is shown as failed:
wants a login.`,
		Example: `  molar servers login tickets
  molar servers login tickets --no-browser
  molar servers login tickets --logout
  molar servers login maps --mcp maps=https://maps.example.com/mcp`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(words(a.serverNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(*format); err != nil {
				return err
			}
			return serve.Run(cmd.Context(), a.CLI, args[0], *format, f)
		},
	}
	cmd.Flags().BoolVar(&f.NoBrowser, "no-browser", false, "open no browser and no port: paste the address that yours ends at")
	cmd.Flags().BoolVar(&f.Logout, "logout", false, "forget the login, and revoke it at the authorization server")
	cmd.Flags().DurationVar(&f.Wait, "wait", serve.Wait, "`time` to wait for the browser")
	cmd.Flags().StringArrayVar(&f.MCP, "mcp", nil, "a server that is not in the config: `NAME=https://address`")
	return cmd
}
