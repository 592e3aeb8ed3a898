package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/serve"
	"molar/internal/setup"
	"molar/internal/store"
	"molar/internal/terminal"
	"molar/internal/text"
)

func newRemoveCmd(a *app, listen, format *string) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a server from the config file, and forget what was decided about it",
		Long: `Remove a server from the config file, and forget what was decided about it.

The entry goes with the comments inside it and right above it; nothing else in the file
changes. Its login is revoked and forgotten, and so are the approvals, confirmations and
switches of its tools. What still names the server elsewhere in the file is printed, and so
are variables that nothing uses any more. A running molar serve detaches the server by
itself. A server that was added on the tools page is removed there.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(words(a.removableNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(*format); err != nil {
				return err
			}
			return (&removing{app: a, name: args[0], listen: *listen, format: *format}).run(cmd.Context())
		},
	}
}

// removableNames returns the servers of the config file.
func (a *app) removableNames(ctx context.Context) []string {
	return slices.DeleteFunc(a.serverNames(ctx), func(name string) bool { return slices.Contains(config.ReservedServers(), name) })
}

// A removing is one run of servers remove.
type removing struct {
	*app
	name, listen, format string
	db                   *store.DB // nil if there is none to open
}

// A removedServer is what servers remove prints as JSON.
type removedServer struct {
	Server string `json:"server"`
	File   string `json:"file"`
	// Forgotten reports that decisions about the server, or its login, were stored.
	Forgotten bool `json:"forgotten"`
	// Named are the settings that still name it, Unused the variables that nothing refers to any more.
	Named  []string `json:"still_named,omitempty"`
	Unused []string `json:"unused_variables,omitempty"`
}

func (r *removing) run(ctx context.Context) error {
	path, err := r.configName(nil)
	if err != nil {
		return err
	}
	file, err := setup.OpenConfigFile(path)
	if err != nil {
		return err
	}
	before, err := r.loadText(path, file.Text, nil)
	if err != nil {
		return cli.Usage(fmt.Errorf("%w\nnothing was changed: correct that first", err))
	}
	if err := r.openStore(ctx, before); err != nil {
		r.Note("%s", terminal.Clean("the store cannot be opened, so the login of "+r.name+" and what was decided about its tools stay in it: "+err.Error()))
	}
	if r.db != nil {
		defer r.db.Close()
	}
	server, ok := before.MCPServers.Get(r.name)
	if !ok {
		return r.refuse(ctx, before)
	}
	text, comments, err := config.RemoveServer(file.Text, r.name)
	if err != nil {
		return fmt.Errorf("%s: %w; remove the entry by hand", path, err)
	}
	after, err := r.loadText(path, text, nil)
	if err != nil {
		return cli.Usage(fmt.Errorf("without this server the file would be invalid; nothing was changed: correct that first\n%w", err))
	}
	r.logOut(ctx, server)
	if err := file.Replace(text); err != nil {
		return err
	}
	done := removedServer{Server: r.name, File: path, Named: namedBy(after, r.name)}
	if r.db != nil {
		if done.Forgotten, err = r.db.ForgetServer(ctx, r.name); err != nil {
			return err
		}
	}
	for _, name := range after.Variables.Unused {
		if !slices.Contains(before.Variables.Unused, name) {
			done.Unused = append(done.Unused, name)
		}
	}
	return r.report(ctx, done, comments)
}

// openStore opens the store, unless it is a file that does not exist.
func (r *removing) openStore(ctx context.Context, cfg *config.Config) error {
	where := cfg.Database()
	if _, err := os.Stat(where); !strings.Contains(where, "://") && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	log, err := r.Logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	r.db, err = store.Open(ctx, store.Config{Path: where, Logger: log})
	return err
}

// refuse returns why a server that is not in the file cannot be removed from it.
func (r *removing) refuse(ctx context.Context, cfg *config.Config) error {
	if slices.Contains(config.ReservedServers(), r.name) {
		return cli.Usage(fmt.Errorf("%q is a bundled server, which is always attached", r.name))
	}
	if r.db != nil {
		added, err := r.db.AddedServers(ctx)
		if err == nil && slices.ContainsFunc(added, func(s store.AddedServer) bool { return s.Name == r.name }) {
			return fmt.Errorf("%q was added over the API and is not in the file: remove it on the page /tools, or with DELETE /v1/servers/%[1]s", r.name)
		}
	}
	known := "it has none"
	if names := cfg.MCPServers.Names(); len(names) > 0 {
		known = "it has: " + strings.Join(names, ", ")
	}
	return cli.Usage(fmt.Errorf("no server in the config file is called %q; %s", r.name, known))
}

// logOut revokes and forgets the login at the server, if there is one.
func (r *removing) logOut(ctx context.Context, server config.Server) {
	if r.db == nil || server.URL == "" {
		return
	}
	if _, revision, err := r.db.GetLogin(ctx, r.name); err != nil || revision == 0 {
		return
	}
	quiet := *r.CLI
	if r.format == cli.JSON {
		quiet.Stdout = r.Stderr
	}
	if err := serve.Run(ctx, &quiet, r.name, cli.Text, serve.Flags{Logout: true}); err != nil {
		r.Note("%s", terminal.Clean("the login is forgotten without being revoked: "+err.Error()))
	}
}

// namedBy returns the settings that name tools of a server.
func namedBy(cfg *config.Config, server string) []string {
	var named []string
	prefix := server + "__"
	for _, e := range cfg.Assistants {
		for _, glob := range e.Value.Tools {
			if strings.HasPrefix(strings.TrimPrefix(glob, "!"), prefix) {
				named = append(named, fmt.Sprintf("assistants.%s.tools: %s", e.Name, glob))
			}
		}
		for _, tool := range e.Value.Search {
			if strings.HasPrefix(tool, prefix) {
				named = append(named, fmt.Sprintf("assistants.%s.search: %s", e.Name, tool))
			}
		}
	}
	return named
}

func (r *removing) report(ctx context.Context, done removedServer, comments int) error {
	if r.format == cli.JSON {
		return r.PrintJSON(done)
	}
	with := ""
	if comments > 0 {
		with = " with the " + text.Counted(comments, "comment line") + " above it"
	}
	r.Say("removed %s from %s%s", done.Server, done.File, with)
	if done.Forgotten {
		r.Say("forgot what was stored about it: approvals, marks, switches and logins")
	}
	for _, named := range done.Named {
		r.Say("%s", terminal.Clean("still names it: "+named))
	}
	if len(done.Unused) > 0 {
		r.Say("nothing uses these variables any more, so their lines in %s can go: %s", filepath.Base(config.VariablesFile(done.File)), strings.Join(done.Unused, ", "))
	}
	if r.isServed(ctx, r.listen) {
		r.Say("the running host takes it from the file by itself; see: %s", r.hint("molar servers list"))
	}
	return nil
}
