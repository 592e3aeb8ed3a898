package schemas

import "time"

// The reserved names of the bundled servers.
const (
	MemoryServer = "memory-server"
	ToolServer   = "tool-server"
)

// FindTools is the host's tool that finds tools which are not offered.
const FindTools = "find_tools"

// A ServerState is the state of the connection to an MCP server.
type ServerState string

// The states of a server. Only a server in StateReady or StateDegraded has tools.
const (
	StateDisabled ServerState = "disabled"
	StateStarting ServerState = "starting"
	StateReady    ServerState = "ready"
	StateDegraded ServerState = "degraded"
	StateBackoff  ServerState = "backoff"
	StateFailed   ServerState = "failed"
	StateStopping ServerState = "stopping"
)

// Predicate returns the state as what a sentence says of the server: "is starting", "failed".
func (s ServerState) Predicate() string {
	switch s {
	case StateFailed:
		return "failed"
	case StateBackoff:
		return "is down"
	default:
		return "is " + string(s)
	}
}

// A ServerProtocol is what was learnt of how a server begins.
type ServerProtocol struct {
	// Revision is the MCP revision agreed on, "" if nothing is known.
	Revision string
	// Version is what the server called its version then.
	Version string
}

// A ToolChange is a tool's change since its server's tools were approved.
type ToolChange struct {
	Tool string `json:"tool"`
	// Diff are lines of its definition, prefixed with "+ ", "- " or "  ".
	Diff []string `json:"diff"`
	// Unknown is set if the text of the earlier definition was not stored.
	Unknown bool `json:"unknown,omitempty"`
}

// ServerStatus describes a server to a person.
type ServerStatus struct {
	// Added is set if the operator added it over the API and not in the config file.
	Added bool        `json:"added,omitempty"`
	Name  string      `json:"name"`
	State ServerState `json:"state"`
	// Reason explains every state but ready, in one sentence that says what to do.
	Reason string `json:"reason,omitempty"`
	// Transport is "stdio", "http", "sse", "message" or "in-process".
	Transport string `json:"transport"`
	Tools     int    `json:"tools"`
	// Skipped names the tools that could not be used, each with its reason.
	Skipped []string `json:"skipped,omitempty"`
	// Pending names the tools pending a person's approval, and Digest identifies their
	// definitions.
	Pending []string `json:"pending,omitempty"`
	Digest  string   `json:"digest,omitempty"`
	// Unconfirmed is set while no person has confirmed its list of tools, whose definitions ListDigest
	// identifies. Proposal is what to confirm.
	Unconfirmed bool      `json:"unconfirmed,omitempty"`
	ListDigest  string    `json:"list_digest,omitempty"`
	Proposal    *Proposal `json:"proposal,omitempty"`
	// Alike names its tools that can be mistaken for those of another server.
	Alike []string `json:"alike,omitempty"`
	// Visitors says of each tool that the public assistant uses and its visitors are not offered, why, and
	// what to do if they may.
	Visitors []string `json:"visitors,omitempty"`
	// Changes are their changes.
	Changes []ToolChange `json:"changes,omitempty"`
	// Protocol is the MCP revision agreed on, such as "2025-11-25".
	Protocol string `json:"protocol,omitempty"`
	// Version is the server's own version, as it gave it.
	Version string    `json:"version,omitempty"`
	Since   time.Time `json:"since"`
	// StartMS is how long the last start took, in milliseconds.
	StartMS int64 `json:"start_ms,omitempty"`
	// Stderr holds the last lines that the server wrote to standard error; of one that failed, all that
	// were kept.
	Stderr []string `json:"stderr,omitempty"`
}
