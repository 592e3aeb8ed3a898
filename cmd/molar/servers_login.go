package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/config"
	"molar/internal/store"
	"molar/internal/terminal"
	"molar/mcpclients"
	"molar/mcpclients/oauth"
	"molar/schemas"
)

// loginWait is how long a person may take in the browser.
const loginWait = 5 * time.Minute

// loginFlags are the flags of servers login.
type loginFlags struct {
	noBrowser, logout bool
	wait              time.Duration
	mcp               []string
}

func newLoginCmd(a *app, format *string) *cobra.Command {
	var f loginFlags
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Log in at a server over HTTP that wants it, or log out",
		Long: `Log in at a server over HTTP that wants it (OAuth 2.1), or log out.

The address to open in a browser is printed on standard error, and opened if there is
one. The browser comes back to a port of this machine. On a machine without a browser
use --no-browser: open the address elsewhere, and paste the address that the browser
ends at, which begins with http://127.0.0.1, even if the page cannot be shown.

The login is kept in the host's own database. A running molar takes it up within
seconds and renews it by itself; when it cannot any more, the server is shown as
failed: wants a login.`,
		Example: `  molar servers login tickets
  molar servers login tickets --no-browser
  molar servers login tickets --logout
  molar servers login maps --mcp maps=https://maps.example.com/mcp`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(words(a.serverNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(*format); err != nil {
				return err
			}
			return a.login(cmd.Context(), args[0], *format, f)
		},
	}
	cmd.Flags().BoolVar(&f.noBrowser, "no-browser", false, "open no browser and no port: paste the address that yours ends at")
	cmd.Flags().BoolVar(&f.logout, "logout", false, "forget the login, and tell the authorization server")
	cmd.Flags().DurationVar(&f.wait, "wait", loginWait, "`time` to wait for the browser")
	cmd.Flags().StringArrayVar(&f.mcp, "mcp", nil, "a server that is not in the config, as the other commands take it: `NAME=https://address`")
	return cmd
}

// A loginRun is one call of the command.
type loginRun struct {
	*app
	loginFlags
	cfg    *config.Config
	server mcpclients.ServerConfig
	db     *store.DB
	web    *http.Client // nil means the defaults
	client *oauth.Client
}

func (a *app) login(ctx context.Context, name, format string, f loginFlags) error {
	cfg, err := a.loadWithServers(nil, f.mcp)
	if err != nil {
		return err
	}
	run := &loginRun{app: a, loginFlags: f, cfg: cfg}
	if run.server, err = loginServer(cfg, name); err != nil {
		return &exitError{exitUsage, err}
	}
	if run.web, err = trustingClient(cfg.CAFile); err != nil {
		return err
	}
	var transport http.RoundTripper
	if run.web != nil {
		transport = run.web.Transport
	}
	if run.client, err = oauth.NewClient(transport, nil); err != nil {
		return err
	}
	log, err := a.logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	if run.db, err = store.Open(ctx, store.Config{Path: cfg.Database(), Logger: log}); err != nil {
		return err
	}
	defer run.db.Close()
	if f.logout {
		return run.out(ctx, format)
	}
	return run.in(ctx, format)
}

// loginServer is the server of that name, if one can log in to it.
func loginServer(cfg *config.Config, name string) (mcpclients.ServerConfig, error) {
	s, ok := cfg.MCPServers.Get(name)
	switch {
	case !ok:
		return mcpclients.ServerConfig{}, fmt.Errorf("no server is called %q; see: molar servers list, or name its address: --mcp %s=https://…", name, name)
	case s.URL == "" || s.Type == mcpclients.TypeMessage:
		return mcpclients.ServerConfig{}, fmt.Errorf("one cannot log in to %s: it is no server over HTTP; give it what it needs in mcpServers.%s.env", name, name)
	}
	c := serverConfig(name, s)
	for header := range c.Headers {
		if strings.EqualFold(header, "Authorization") {
			return c, fmt.Errorf("mcpServers.%s.headers has Authorization already: remove it to log in instead", name)
		}
	}
	return c, nil
}

// loginSettings are the settings of a login as the client manager wants them.
func loginSettings(o config.OAuth) oauth.Settings {
	return oauth.Settings{ClientID: o.ClientID, ClientSecret: o.ClientSecret.Reveal(), Scopes: o.Scopes, RedirectPort: o.RedirectPort}
}

// in leads a person through the login and keeps it.
func (r *loginRun) in(ctx context.Context, format string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.wait,
		fmt.Errorf("nobody came back from the browser within %s; run the command again, or with --no-browser", r.wait))
	defer cancel()
	s := r.server.LoginServer()
	before, _, err := oauth.Get(ctx, r.db, s)
	if err != nil {
		return err
	}
	grant, err := r.ask(ctx, s, before)
	if errors.Is(err, oauth.ErrNoLogin) {
		return fmt.Errorf("%w; nothing was done", err)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("log in to %s: %w", s.Name, err)
	}
	if err := oauth.Put(ctx, r.db, s, grant); err != nil {
		return err
	}
	return r.tell(ctx, grant, format)
}

// ask has the person go through the login, in a browser here or elsewhere.
func (r *loginRun) ask(ctx context.Context, s oauth.Server, before *oauth.Grant) (oauth.Grant, error) {
	if r.noBrowser {
		const unused = 8765 // nothing listens: the person reads the address there
		port := s.RedirectPort
		if port == 0 {
			port = unused
		}
		login, err := r.client.Begin(ctx, s, oauth.RedirectURI(port), before)
		if err != nil {
			return oauth.Grant{}, err
		}
		return r.pasted(ctx, login)
	}
	back, err := oauth.Listen(ctx, s.RedirectPort)
	if err != nil {
		return oauth.Grant{}, err
	}
	defer back.Close()
	login, err := r.client.Begin(ctx, s, back.URI(), before)
	if err != nil {
		return oauth.Grant{}, err
	}
	r.note("open this address in a browser, and log in at %s:\n\n%s\n", terminal.Clean(login.Issuer), login.URL)
	if isTerminal(r.stdout) {
		r.openBrowser(ctx, login.URL)
	}
	var grant oauth.Grant
	err = back.Wait(ctx, func(query url.Values) error {
		var err error
		grant, err = login.Finish(ctx, query)
		if errors.Is(err, oauth.ErrState) {
			r.note("a browser came with an answer to another login; still waiting")
		}
		return err
	})
	return grant, err
}

// pasted reads the address that the browser ended at.
func (r *loginRun) pasted(ctx context.Context, login *oauth.Login) (oauth.Grant, error) {
	r.note("open this address in any browser, and log in at %s:\n\n%s\n", terminal.Clean(login.Issuer), login.URL)
	in := bufio.NewReader(io.LimitReader(r.stdin, 64<<10))
	for {
		r.note("then paste the address that the browser ends at (http://127.0.0.1…):")
		line, err := readLine(ctx, in)
		if err != nil {
			return oauth.Grant{}, err
		}
		if line == "" {
			continue
		}
		u, err := url.Parse(line)
		if err != nil || u.Query().Get("state") == "" {
			r.note("this is not that address: it holds code= and state=")
			continue
		}
		return login.Finish(ctx, u.Query())
	}
}

// readLine reads a line, or fails when ctx ends. The read itself then waits for the
// person, or ends with the program.
func readLine(ctx context.Context, in *bufio.Reader) (string, error) {
	type result struct {
		text string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		text, err := in.ReadString('\n')
		read <- result{strings.TrimSpace(text), err}
	}()
	select {
	case r := <-read:
		if r.err != nil && r.text == "" {
			return "", errors.New("no address was pasted; run the command again")
		}
		return r.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// out forgets the login.
func (r *loginRun) out(ctx context.Context, format string) error {
	s := r.server.LoginServer()
	grant, _, err := oauth.Get(ctx, r.db, s)
	if err != nil {
		return err
	}
	dropped, err := oauth.Drop(ctx, r.db, s)
	if err != nil {
		return err
	}
	if grant != nil {
		if err := r.client.Revoke(ctx, s, *grant); err != nil {
			r.note("the authorization server could not be told, its tokens end by themselves: %s", terminal.Clean(err.Error()))
		}
	}
	switch {
	case format == formatJSON:
		return r.printJSON(map[string]any{"server": s.Name, "logged_out": dropped})
	case !dropped:
		r.say("there was no login at %s", s.Name)
	default:
		r.say("logged out of %s", s.Name)
	}
	return nil
}

// tell says what became of the login, and whether the server takes it.
func (r *loginRun) tell(ctx context.Context, g oauth.Grant, format string) error {
	status, err := r.tryOut(ctx)
	if err != nil {
		return err
	}
	if format == formatJSON {
		return r.printJSON(struct {
			Server  string               `json:"server"`
			Issuer  string               `json:"issuer"`
			Scopes  []string             `json:"scopes,omitempty"`
			Expires time.Time            `json:"expires,omitzero"`
			Renews  bool                 `json:"renews"`
			Status  schemas.ServerStatus `json:"status"`
		}{r.server.Name, g.Issuer, g.Scopes, g.Expires, g.Refresh != "", status})
	}
	line := fmt.Sprintf("logged in to %s at %s", r.server.Name, g.Issuer)
	if len(g.Scopes) > 0 {
		line += ", scope " + strings.Join(g.Scopes, " ")
	}
	if g.Refresh == "" && !g.Expires.IsZero() {
		line += ", until " + day(g.Expires) + ": it cannot be renewed"
	}
	r.say("%s", terminal.Clean(line))
	r.say("%s", terminal.Clean(serverLine(status)))
	if status.State != schemas.StateReady && status.State != schemas.StateDisabled {
		return &exitError{exitFailure, nil}
	}
	return nil
}

// tryOut attaches the server with the new login.
func (r *loginRun) tryOut(ctx context.Context) (schemas.ServerStatus, error) {
	m, err := mcpclients.New(mcpclients.Config{
		Servers: []mcpclients.ServerConfig{r.server}, HTTPClient: r.web, Logins: r.db,
		Client: mcpclients.Implementation{Name: "molar", Version: hostVersion()},
	})
	if err != nil {
		return schemas.ServerStatus{}, err
	}
	defer m.Close()
	m.Start(ctx)
	wait, cancel := context.WithTimeout(ctx, chatAttachWait)
	defer cancel()
	if err := m.Wait(wait, nil); err != nil && ctx.Err() != nil {
		return schemas.ServerStatus{}, context.Cause(ctx)
	}
	return m.Status()[0], nil
}
