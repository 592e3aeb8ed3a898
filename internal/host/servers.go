package host

import (
	"fmt"
	"log/slog"
	"regexp"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/terminal"
	"molar/mcpclients/lastwords"
	"molar/mcpclients/oauth"
	"molar/mcpclients/transport"
	"molar/schemas"
	"molar/toolhandler"
)

// LookPath finds the program of a server, as when it is started.
func LookPath(command string) (string, error) { return transport.LookPath(command) }

// ServerConfig converts a configured server for the client manager.
func ServerConfig(name string, s config.Server) transport.ServerConfig {
	c := transport.ServerConfig{
		Name:         name,
		Command:      s.Command,
		Args:         s.Args,
		Env:          schemas.RevealAll(s.Env),
		Dir:          s.Cwd,
		URL:          s.URL,
		Type:         s.Type,
		Headers:      schemas.RevealAll(s.Headers),
		AsPerson:     s.As == config.AsPerson,
		OAuth:        loginSettings(s.OAuth),
		Timeout:      s.Timeout,
		StartTimeout: s.StartTimeout,
		Protocol:     s.Protocol,
		IncludeTools: s.IncludeTools,
		ExcludeTools: s.ExcludeTools,
		Disabled:     s.Disabled,
		Unset:        s.UnsetFault,
		Pin:          s.Pinned(),
		Marks:        schemas.ServerMarks{Trust: s.Trust, Public: s.Public, Closed: s.Closed, ReadOnly: s.ReadOnly},
		Always:       s.Always,
	}
	for _, rule := range s.Tools {
		r := transport.ToolRule{Glob: rule.Name}
		r.Policy, r.ReadOnly, r.Idempotent, r.Timeout = rule.Value.Policy, rule.Value.ReadOnly, rule.Value.Idempotent, rule.Value.Timeout
		if r.Approvers = rule.Value.Approvers; len(r.Approvers) > 0 {
			r.Policy = schemas.PolicyConfirm
		}
		r.Poll, r.Always = rule.Value.Poll, rule.Value.Always
		r.Adds, r.Content = rule.Value.Adds, rule.Value.Content
		r.Mild = rule.Value.Destructive != nil && !*rule.Value.Destructive
		c.Rules = append(c.Rules, r)
	}
	return c
}

// loginSettings converts the settings of a login for the client manager.
func loginSettings(o config.OAuth) oauth.Settings {
	id := o.Identity
	return oauth.Settings{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret.Reveal(), Scopes: o.Scopes, RedirectPort: o.RedirectPort,
		Grant: o.Grant, PrivateKey: o.PrivateKey.Reveal(),
		Identity: oauth.Identity{
			Issuer: id.Issuer, ClientID: id.ClientID, ClientSecret: id.ClientSecret.Reveal(), Token: id.Token.Reveal(), TokenFile: id.TokenFile,
		},
	}
}

// ServerLine describes a server in one line.
func ServerLine(s schemas.ServerStatus) string {
	line := fmt.Sprintf("%s %s (%s)", s.Name, s.State, s.Transport)
	switch {
	case s.State == schemas.StateReady || s.State == schemas.StateDegraded:
		if line += fmt.Sprintf(", %d tool", s.Tools); s.Tools != 1 {
			line += "s"
		}
		if len(s.Skipped) > 0 {
			line += fmt.Sprintf(", %d left out", len(s.Skipped))
		}
		if s.State == schemas.StateDegraded && s.Reason != "" {
			line += ": " + s.Reason
		}
	case s.Reason != "":
		line += ": " + s.Reason
	}
	return line
}

// Hint returns a text whose commands on servers can be run as they stand: they repeat --config, if it was
// given.
func Hint(c *cli.CLI, text string) string {
	if c.ConfigFile == "" {
		return cli.Typed(text)
	}
	hinted := regexp.MustCompile(`\bmolar (?:servers|tools) [a-z]+`)
	return cli.Typed(hinted.ReplaceAllStringFunc(text, func(command string) string {
		return command + " --config " + terminal.Shell(c.ConfigFile)
	}))
}

// ServerWords returns the lines that tell why a server is not ready, as it wrote them, at most three.
func ServerWords(s schemas.ServerStatus) []string {
	switch s.State {
	case schemas.StateFailed, schemas.StateBackoff:
		return lastwords.Excerpt(s.Stderr, 3)
	default:
		return nil
	}
}

// WarnExposed warns if others can read the config's file of secrets.
func WarnExposed(cfg *config.Config, log *slog.Logger) {
	if mode, is := config.Exposed(cfg.Variables.File); is {
		log.Warn("others on this machine can reach the secrets of the config", "file", cfg.Variables.File, "mode", mode.String(), "do", "chmod 600 "+cfg.Variables.File)
	}
}

// MissingVariables lists the servers that cannot be attached until a variable is set.
func MissingVariables(cfg *config.Config) []string {
	var notes []string
	for _, e := range cfg.MCPServers {
		if !e.Value.Disabled && e.Value.UnsetFault != "" {
			notes = append(notes, fmt.Sprintf("server %q is not attached: %s", e.Name, e.Value.UnsetFault))
		}
	}
	return notes
}

// flowsOf converts the operator's rules for flows.
func flowsOf(cfg *config.Config) []schemas.FlowRule {
	rules := make([]schemas.FlowRule, len(cfg.Flows))
	for i, f := range cfg.Flows {
		rules[i] = schemas.FlowRule{From: f.From, To: f.To, Allow: f.Allow != nil && *f.Allow}
	}
	return rules
}

// Propose returns what to propose about the tools of a server, nil if it lists none.
func (h *Host) Propose(server schemas.ServerStatus) *schemas.Proposal {
	p := toolhandler.Propose(server.Name, h.MCP.Catalogue().Tools())
	if p.Digest = server.ListDigest; len(p.Tools) == 0 {
		return nil
	}
	return &p
}
