package serve

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

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/store"
	"molar/internal/terminal"
	"molar/mcpclients"
	"molar/mcpclients/oauth"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// Wait is the time limit of the login in the browser.
const Wait = 5 * time.Minute

// Flags are the flags of servers login.
type Flags struct {
	NoBrowser, Logout bool
	Wait              time.Duration
	MCP               []string
}

// A loginRun is one login or logout.
type loginRun struct {
	*cli.CLI
	Flags
	server transport.ServerConfig
	db     *store.DB
	web    *http.Client // nil means the defaults
	client *oauth.Client
}

// Run logs in at a server, or out, and stores the result in the host's database.
func Run(ctx context.Context, c *cli.CLI, name, format string, f Flags) error {
	cfg, err := c.LoadWithServers(nil, f.MCP)
	if err != nil {
		return err
	}
	run := &loginRun{CLI: c, Flags: f}
	if run.server, err = loginServer(cfg, name); err != nil {
		return cli.Usage(errors.New(host.Hint(c, err.Error())))
	}
	if run.web, err = host.Client(cfg.CAFile); err != nil {
		return err
	}
	var transport http.RoundTripper
	if run.web != nil {
		transport = run.web.Transport
	}
	if run.client, err = oauth.NewClient(transport, nil); err != nil {
		return err
	}
	log, err := c.Logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	if run.db, err = store.Open(ctx, store.Config{Path: cfg.Database(), Logger: log}); err != nil {
		return err
	}
	defer run.db.Close()
	if f.Logout {
		return run.logOut(ctx, format)
	}
	return run.logIn(ctx, format)
}

// loginServer returns the server with that name, if it supports login.
func loginServer(cfg *config.Config, name string) (transport.ServerConfig, error) {
	s, ok := cfg.MCPServers.Get(name)
	switch {
	case !ok:
		return transport.ServerConfig{}, fmt.Errorf("no server is called %q; see: molar servers list, or name its address: --mcp %s=https://…", name, name)
	case s.UnsetFault != "":
		return transport.ServerConfig{}, errors.New(s.UnsetFault)
	case s.URL == "" || s.Type == transport.TypeMessage:
		return transport.ServerConfig{}, fmt.Errorf("cannot log in to %s: it is not an HTTP server; set its credentials in mcpServers.%s.env", name, name)
	}
	c := host.ServerConfig(name, s)
	if c.OAuth.Alone() {
		return c, fmt.Errorf("the host logs in to %s by itself, as mcpServers.%s.oauth says; see: molar servers list", name, name)
	}
	for header := range c.Headers {
		if strings.EqualFold(header, "Authorization") {
			return c, fmt.Errorf("mcpServers.%s.headers has Authorization already: remove it to log in instead", name)
		}
	}
	return c, nil
}

// logIn guides a person through the login and stores it.
func (r *loginRun) logIn(ctx context.Context, format string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Wait,
		fmt.Errorf("the browser did not return within %s; run the command again, or with --no-browser", r.Wait))
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
	if err := r.db.Audit(ctx, schemas.AuditLine{Event: schemas.EventLogin, Server: s.Name, Detail: "at " + grant.Issuer}); err != nil {
		return err
	}
	return r.report(ctx, grant, format)
}

// ask lets the person log in, in a browser here or elsewhere.
func (r *loginRun) ask(ctx context.Context, s oauth.Server, before *oauth.Grant) (oauth.Grant, error) {
	if r.NoBrowser {
		const unused = 8765 // nothing listens: the person copies the address there
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
	r.Note("open this address in a browser, and log in at %s:\n\n%s\n", terminal.Clean(login.Issuer), login.URL)
	if cli.IsTerminal(r.Stdout) {
		openBrowser(ctx, r.CLI, login.URL)
	}
	var grant oauth.Grant
	err = back.Wait(ctx, func(query url.Values) error {
		var err error
		grant, err = login.Finish(ctx, query)
		if errors.Is(err, oauth.ErrState) {
			r.Note("a browser came with an answer to another login; still waiting")
		}
		return err
	})
	return grant, err
}

// pasted reads the address at which the browser ended.
func (r *loginRun) pasted(ctx context.Context, login *oauth.Login) (oauth.Grant, error) {
	r.Note("open this address in any browser, and log in at %s:\n\n%s\n", terminal.Clean(login.Issuer), login.URL)
	in := bufio.NewReader(io.LimitReader(r.Stdin, 64<<10))
	for {
		r.Note("then paste the address that the browser ends at (http://127.0.0.1…):")
		line, err := cli.ReadLine(ctx, in)
		if errors.Is(err, io.EOF) {
			err = errors.New("no address was pasted; run the command again")
		}
		if err != nil {
			return oauth.Grant{}, err
		}
		if line == "" {
			continue
		}
		u, err := url.Parse(line)
		if err != nil || u.Query().Get("state") == "" {
			r.Note("this is not that address: it holds code= and state=")
			continue
		}
		return login.Finish(ctx, u.Query())
	}
}

// logOut deletes the login.
func (r *loginRun) logOut(ctx context.Context, format string) error {
	s := r.server.LoginServer()
	grant, _, err := oauth.Get(ctx, r.db, s)
	if err != nil {
		return err
	}
	dropped, err := oauth.Drop(ctx, r.db, s)
	if err == nil && dropped {
		err = r.db.Audit(ctx, schemas.AuditLine{Event: schemas.EventLogout, Server: s.Name})
	}
	if err != nil {
		return err
	}
	if grant != nil {
		if err := r.client.Revoke(ctx, s, *grant); err != nil {
			r.Note("the authorization server could not be asked to revoke the tokens, which stay valid until they expire: %s", terminal.Clean(err.Error()))
		}
	}
	switch {
	case format == cli.JSON:
		return r.PrintJSON(map[string]any{"server": s.Name, "logged_out": dropped})
	case !dropped:
		r.Say("there was no login at %s", s.Name)
	default:
		r.Say("logged out of %s", s.Name)
	}
	return nil
}

// report prints the result of the login, and whether the server accepts it.
func (r *loginRun) report(ctx context.Context, g oauth.Grant, format string) error {
	status, err := r.attach(ctx)
	if err != nil {
		return err
	}
	if format == cli.JSON {
		return r.PrintJSON(struct {
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
		line += ", until " + cli.Day(g.Expires) + ": it cannot be renewed"
	}
	r.Say("%s", terminal.Clean(line))
	r.Say("%s", terminal.Clean(host.Hint(r.CLI, host.ServerLine(status))))
	if status.State != schemas.StateReady && status.State != schemas.StateDisabled {
		return cli.Exit(cli.Failure)
	}
	return nil
}

// attach attaches the server with the new login.
func (r *loginRun) attach(ctx context.Context) (schemas.ServerStatus, error) {
	m, err := mcpclients.New(mcpclients.Config{
		Servers: []transport.ServerConfig{r.server}, HTTPClient: r.web, Logins: r.db, Once: true,
		Client: transport.Implementation{Name: "molar", Version: cli.Version()},
	})
	if err != nil {
		return schemas.ServerStatus{}, err
	}
	defer m.Close()
	m.Start(ctx)
	wait, cancel := context.WithTimeout(ctx, host.AttachWait)
	defer cancel()
	if err := m.Wait(wait, nil); err != nil && ctx.Err() != nil {
		return schemas.ServerStatus{}, context.Cause(ctx)
	}
	return m.Status()[0], nil
}
