package mcpclients

import (
	"log/slog"
	"net/http"
	"time"

	"molar/internal/telemetry"
	"molar/mcpclients/oauth"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// Defaults and limits that [Config] may override.
const (
	// DefaultStartTimeout covers start and initialize, DefaultListTimeout the whole
	// tool list.
	DefaultStartTimeout = 60 * time.Second
	DefaultListTimeout  = 15 * time.Second
	// DefaultMaxResult is how many bytes of a result's text are kept.
	DefaultMaxResult = 64 << 10
)

// Config is what [New] needs. All fields may be zero.
type Config struct {
	Servers []transport.ServerConfig
	// Logger is nil to log nothing.
	Logger *slog.Logger
	// HTTPClient is shared by all HTTP servers; nil means a client of the manager's
	// own with a large idle pool. It must have no Timeout, which would cut streams.
	HTTPClient *http.Client
	// Client is how the host introduces itself.
	Client transport.Implementation
	// Elicit, when set, answers what servers ask of a person; without it the host tells
	// them that it cannot. What is asked during a call of [Manager.CallFor] goes to that
	// person instead.
	Elicit Elicitor
	// Decisions are what was kept of earlier runs, and Keeper keeps new ones; nil keeps
	// them until the manager is closed.
	Decisions schemas.ToolDecisions
	Keeper    Keeper
	// Logins keeps the logins at servers that want one; nil means that nobody can log in.
	Logins oauth.Store
	// Telemetry may be nil.
	Telemetry *telemetry.Telemetry
	// Wrap, when set, is put around the dialer of every server: a recorder wraps
	// the connections, a player never calls the inner dialer.
	Wrap func(transport.Dialer) transport.Dialer
}
