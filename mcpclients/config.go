package mcpclients

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"molar/internal/telemetry"
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
	// DefaultProtocol is the MCP revision that is asked for unless configured.
	DefaultProtocol = "2025-11-25"
	// DefaultTimeout is how long one call may take, MaxTimeout the most that can be
	// configured.
	DefaultTimeout = 60 * time.Second
	MaxTimeout     = 30 * time.Minute
	// DefaultStartTimeout covers start and initialize, DefaultListTimeout the whole
	// tool list.
	DefaultStartTimeout = 30 * time.Second
	DefaultListTimeout  = 15 * time.Second
	// DefaultMaxResult is how many bytes of a result's text are kept.
	DefaultMaxResult = 64 << 10
	// MaxTools is how many tools of one server are kept.
	MaxTools = 2000
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
	// Protocol is the MCP revision to ask for, [ProtocolStateless] or [ProtocolAuto];
	// "" means [DefaultProtocol].
	Protocol string
	// IncludeTools and ExcludeTools are globs of [path.Match] over the tools' own
	// names. An empty IncludeTools includes every tool; ExcludeTools beats it.
	IncludeTools, ExcludeTools []string
	// Disabled servers are listed, never started.
	Disabled bool
	// Pin withholds tools whose definition is not the one of their first listing, until
	// a person approves it.
	Pin bool
	// Rules for the server's tools; the first whose glob matches wins.
	Rules []ToolRule
	// Setting is where a person changes the server's address; "" means mcpServers and
	// its name.
	Setting string
	// Persistent servers are asked again every 10 s, whatever they refused with: others
	// that refuse are left alone until the config is read anew.
	Persistent bool

	answer answerer      // set for dialing: answers what the server asks of the host
	login  *oauth.Source // likewise: the tokens of a server that wants a login
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

// Config is what [New] needs. All fields may be zero.
type Config struct {
	Servers []ServerConfig
	// Logger is nil to log nothing.
	Logger *slog.Logger
	// HTTPClient is shared by all HTTP servers; nil means a client of the manager's
	// own with a large idle pool. It must have no Timeout, which would cut streams.
	HTTPClient *http.Client
	// Client is how the host introduces itself.
	Client Implementation
	// StartTimeout, ListTimeout and MaxResult override the defaults when positive.
	StartTimeout time.Duration
	ListTimeout  time.Duration
	MaxResult    int
	// Elicit, when set, answers what servers ask of a person; without it the host
	// tells them that it cannot.
	Elicit Elicitor
	// Decisions are what was kept of earlier runs, and Keeper keeps new ones; nil keeps
	// them until the manager is closed.
	Decisions Decisions
	Keeper    Keeper
	// Logins keeps the logins at servers that want one; nil means that nobody can log in.
	Logins oauth.Store
	// Telemetry may be nil.
	Telemetry *telemetry.Telemetry
	// Wrap, when set, is put around the dialer of every server: a recorder wraps
	// the connections, a player never calls the inner dialer.
	Wrap func(Dialer) Dialer
}

// transport returns the type of the server, following from its fields when it is
// not named.
func (s *ServerConfig) transport() string {
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

// place is the setting that a person is told to look at.
func (s *ServerConfig) place() string { return cmp.Or(s.Setting, "mcpServers."+s.Name) }

func (s *ServerConfig) timeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return DefaultTimeout
}

// handshake is the revision to ask for in a handshake.
func (s *ServerConfig) handshake() string {
	if s.Protocol != "" && s.Protocol != ProtocolAuto {
		return s.Protocol
	}
	return DefaultProtocol
}
