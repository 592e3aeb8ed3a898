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
	// DefaultMaxResult bounds a result's text, in bytes.
	DefaultMaxResult = 8 << 20
	// maxPrompt bounds the text of a prompt, in bytes.
	maxPrompt = 64 << 10
)

// Config is what [New] needs. All fields may be zero.
type Config struct {
	Servers []transport.ServerConfig
	// Logger is nil to log nothing.
	Logger *slog.Logger
	// HTTPClient is shared by all HTTP servers; nil means a client that the manager owns, with a
	// large idle pool. It must have no Timeout, which would cut streams.
	HTTPClient *http.Client
	// Client is how the host introduces itself.
	Client transport.Implementation
	// Elicit, when set, answers the questions that servers ask of a person; without it the host
	// declares that it cannot. Questions during a call of [Manager.CallFor] go to that person
	// instead.
	Elicit Elicitor
	// Decisions come from earlier runs, and Keeper stores new ones; nil keeps them until the
	// manager is closed.
	Decisions schemas.ToolDecisions
	Keeper    Keeper
	// Logins stores the logins at servers that require one; nil disables logins.
	Logins oauth.Store
	// People is what servers need that each person calls as themselves.
	People People
	// Protocols keeps which revision each server speaks; nil keeps it until the manager is closed.
	Protocols Protocols
	// Once is set if the process ends soon after [Manager.Wait]: no reason promises a retry then.
	Once bool
	// Telemetry may be nil.
	Telemetry *telemetry.Telemetry
	// Wrap, when set, is put around the dialer of every server: a recorder wraps
	// the connections, a player never calls the inner dialer.
	Wrap func(transport.Dialer) transport.Dialer
}
