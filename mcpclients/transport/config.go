package transport

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
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
	// ProtocolStateless is the revision without a handshake: each request carries the revision,
	// the client and its capabilities.
	ProtocolStateless = "2026-07-28"
	// ProtocolHandshake is the newest revision that begins with a handshake.
	ProtocolHandshake = "2025-11-25"
	// ProtocolAuto finds out which of the two kinds of revision the server speaks. It is the
	// default over HTTP and stdio; the other transports begin with a handshake.
	ProtocolAuto = "auto"
	// DefaultTimeout bounds one call, MaxTimeout the configured timeouts.
	DefaultTimeout = 60 * time.Second
	MaxTimeout     = 30 * time.Minute
)

// A ServerConfig describes one server. Exactly one of Command, URL and InProcess
// is set.
type ServerConfig struct {
	// Name as in the config file; it becomes the first half of the offered names.
	Name string
	// Command, Args, Env and Dir start a stdio server. Command is looked up in PATH and run
	// without a shell; Env is added to a short allow-list of the host's own environment; Dir is
	// the working directory, the host's if empty.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string
	// URL is the address of a server over HTTP. For [TypeMessage] it is the address
	// above /message and /health.
	URL string
	// Type is one of the Type constants. If it is empty, the fields above decide: a server with a
	// URL uses streamable HTTP, or HTTP and SSE if it refuses that.
	Type string
	// Headers are sent with every HTTP request.
	Headers map[string]string
	// AsPerson means that each person has their own connection and login. Then ${person.id},
	// ${person.name} and ${person.groups} in Headers stand for the person.
	AsPerson bool
	// OAuth configures the login at a server over HTTP that requires one; only without an
	// Authorization header.
	OAuth oauth.Settings
	// InProcess answers messages within this process.
	InProcess Handler
	// Timeout of one call; 0 means [DefaultTimeout]. A tool's rule overrides it.
	Timeout time.Duration
	// StartTimeout covers start and initialize; 0 means the default.
	StartTimeout time.Duration
	// Protocol is the only MCP revision to ask for; "" means [ProtocolAuto].
	Protocol string
	// IncludeTools and ExcludeTools are globs of [path.Match] over the tools' own names. An empty
	// IncludeTools includes every tool; ExcludeTools overrides it.
	IncludeTools, ExcludeTools []string
	// Disabled servers are listed but never started.
	Disabled bool
	// Unset lists the settings that lack a value, and what to do. Such a server is listed as
	// failed and never started; its other fields are ignored.
	Unset string
	// Marks are what the operator says about the server.
	Marks schemas.ServerMarks
	// Always means that the server's tools are offered first, whatever their size.
	Always bool
	// Pin withholds tools whose definition differs from their first listing until a person
	// approves it.
	Pin bool
	// Rules for the server's tools; the first whose glob matches wins.
	Rules []ToolRule
	// Setting is where a person changes the server's address; "" means mcpServers and its name.
	// Any other setting marks a server that the host itself needs: it is retried every 10 s
	// whatever its refusal, while a refusal that a person must fix stops other servers until the
	// config is reloaded.
	Setting string
}

// A ToolRule holds the operator's rules for the tools whose own name matches Glob.
type ToolRule struct {
	Glob string
	schemas.ToolRules
}

// A Handler answers raw JSON-RPC messages in process, notifications with nil. session is the same
// for all messages of one connection. Handle may be called by several goroutines at once and
// should return soon after ctx ends.
type Handler interface {
	Handle(ctx context.Context, session string, msg json.RawMessage) json.RawMessage
}

// A Requester is a Handler that also answers requests without their frame of JSON-RPC: within a process,
// to write and read it costs more than many a method.
type Requester interface {
	// Request answers a request of one of its own methods, with a result or with an error object. For any
	// other method it returns false.
	Request(ctx context.Context, method string, params json.RawMessage) (result, failure json.RawMessage, own bool)
}

// An Implementation identifies a program to its peer.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Transport returns the server's type, derived from its fields if Type is empty.
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

// Startable reports whether the server may be started.
func (s *ServerConfig) Startable() bool { return !s.Disabled && s.Unset == "" }

// Needed reports whether the host itself needs the server.
func (s *ServerConfig) Needed() bool { return s.Setting != "" }

// Place returns the setting that a person should check.
func (s *ServerConfig) Place() string { return cmp.Or(s.Setting, "mcpServers."+s.Name) }

// CallTimeout returns the limit of one call.
func (s *ServerConfig) CallTimeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return DefaultTimeout
}

// Pinned reports whether the config names the revision.
func (s *ServerConfig) Pinned() bool { return s.Protocol != "" && s.Protocol != ProtocolAuto }

// FindsProtocol reports whether the server is asked which revision it speaks. A server that the
// host itself needs is this program elsewhere, which shakes hands.
func (s *ServerConfig) FindsProtocol() bool {
	kind := s.Transport()
	return !s.Pinned() && !s.Needed() && (kind == TypeHTTP || kind == TypeStdio)
}

// Handshake returns the revision to request in a handshake.
func (s *ServerConfig) Handshake() string {
	if s.Pinned() {
		return s.Protocol
	}
	return ProtocolHandshake
}

// Identity returns a hash of where the server is: its address without user and query, or its
// command without arguments, since secrets may be in those.
func (s *ServerConfig) Identity() string {
	at := s.Command
	if u, err := url.Parse(s.URL); err == nil && s.URL != "" {
		at = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	sum := sha256.Sum256([]byte(s.Transport() + " " + at))
	return hex.EncodeToString(sum[:16])
}

// HasAuthorization reports whether the configured headers contain credentials.
func (s *ServerConfig) HasAuthorization() bool {
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// LoginServer returns the server for package oauth.
func (s *ServerConfig) LoginServer() oauth.Server {
	return oauth.Server{Name: s.Name, URL: s.URL, Headers: s.Headers, SSE: s.Transport() == TypeSSE, Settings: s.OAuth}
}
