package transport

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"molar/mcpclients/oauth"
	"molar/schemas"
)

// The transports that a [ServerConfig] may name.
const (
	TypeStdio     = "stdio"
	TypeHTTP      = "http"
	TypeSSE       = "sse"
	TypeMessage   = "message"
	TypeInProcess = "in-process"
)

// Defaults and limits.
const (
	// ProtocolStateless is the revision without a handshake: each request carries the
	// revision, the client and what it can do.
	ProtocolStateless = "2026-07-28"
	// ProtocolAuto asks the server which of the two kinds of revision it speaks.
	ProtocolAuto = "auto"
	// DefaultProtocol is the MCP revision that is asked for unless configured.
	DefaultProtocol = "2025-11-25"
	// DefaultTimeout is how long one call may take, MaxTimeout the most that can be
	// configured.
	DefaultTimeout = 60 * time.Second
	MaxTimeout     = 30 * time.Minute
)

// A ServerConfig describes one server. Exactly one of Command, URL and InProcess
// is set.
type ServerConfig struct {
	// Name as in the config file; it becomes the first half of the offered names.
	Name string
	// Command, Args, Env and Dir start a stdio server. Command is looked up in PATH
	// and run without a shell; Env is added to a short allow-list of the host's own
	// environment; Dir is the working directory, the host's own when empty.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string
	// URL is the address of a server over HTTP. For [TypeMessage] it is the address
	// above /message and /health.
	URL string
	// Type is one of the Type constants, or empty to follow from the fields above: a
	// server with a URL speaks streamable HTTP, or HTTP and SSE when it refuses that.
	Type string
	// Headers go with every HTTP request.
	Headers map[string]string
	// OAuth is about the login at a server over HTTP that wants one; without an
	// Authorization header only.
	OAuth oauth.Settings
	// InProcess answers messages within this process.
	InProcess Handler
	// Timeout of one call; 0 means [DefaultTimeout]. A tool's own rule beats it.
	Timeout time.Duration
	// StartTimeout covers start and initialize; 0 means the default.
	StartTimeout time.Duration
	// Protocol is the MCP revision to ask for, [ProtocolStateless] or [ProtocolAuto];
	// "" means [DefaultProtocol].
	Protocol string
	// IncludeTools and ExcludeTools are globs of [path.Match] over the tools' own
	// names. An empty IncludeTools includes every tool; ExcludeTools beats it.
	IncludeTools, ExcludeTools []string
	// Disabled servers are listed, never started.
	Disabled bool
	// Unset says which settings of the server lack a value, and what to do. Such a server
	// is listed as failed, never started; its other fields are not looked at.
	Unset string
	// Trusted says that the texts of the server give no orders.
	Trusted bool
	// Pin withholds tools whose definition is not the one of their first listing, until
	// a person approves it.
	Pin bool
	// Rules for the server's tools; the first whose glob matches wins.
	Rules []ToolRule
	// Setting is where a person changes the server's address; "" means mcpServers and
	// its name. A server of another setting is one that the host itself needs: it is asked
	// again every 10 s, whatever it refused with, while others that refuse what a person
	// must put right are left alone until the config is read anew.
	Setting string
}

// A ToolRule gives the operator's rules to the tools whose own name matches Glob.
type ToolRule struct {
	Glob string
	schemas.ToolRules
}

// A Handler answers raw JSON-RPC messages in process; nil for notifications.
// session is the same for all messages of one connection. Handle may be called by
// several goroutines at once and should return soon after ctx ends.
type Handler interface {
	Handle(ctx context.Context, session string, msg json.RawMessage) json.RawMessage
}

// An Implementation names a program to the servers.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Transport returns the type of the server, following from its fields when it is
// not named.
func (s *ServerConfig) Transport() string {
	switch {
	case s.Type != "":
		return s.Type
	case s.InProcess != nil:
		return TypeInProcess
	case s.URL != "":
		return TypeHTTP
	default:
		return TypeStdio
	}
}

// Startable reports whether the server is to be started at all.
func (s *ServerConfig) Startable() bool { return !s.Disabled && s.Unset == "" }

// Needed reports whether the host itself needs the server.
func (s *ServerConfig) Needed() bool { return s.Setting != "" }

// Place is the setting that a person is told to look at.
func (s *ServerConfig) Place() string { return cmp.Or(s.Setting, "mcpServers."+s.Name) }

// CallTimeout is how long one call may take.
func (s *ServerConfig) CallTimeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return DefaultTimeout
}

// Handshake is the revision to ask for in a handshake.
func (s *ServerConfig) Handshake() string {
	if s.Protocol != "" && s.Protocol != ProtocolAuto {
		return s.Protocol
	}
	return DefaultProtocol
}

// HasAuthorization reports whether the headers of the config say who the host is.
func (s *ServerConfig) HasAuthorization() bool {
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// LoginServer is the server as package oauth wants it.
func (s *ServerConfig) LoginServer() oauth.Server {
	return oauth.Server{Name: s.Name, URL: s.URL, Headers: s.Headers, SSE: s.Transport() == TypeSSE, Settings: s.OAuth}
}
