package mcpclients

import (
	"molar/mcpclients/catalogue"
	"molar/mcpclients/peer"
	"molar/mcpclients/supervise"
)

// What the parts of the package declare and its users name.
type (
	// A ServerConfig describes one server.
	ServerConfig = peer.ServerConfig
	// A ToolRule gives the operator's rules to some tools of a server.
	ToolRule = peer.ToolRule
	// A Handler answers raw JSON-RPC messages in process.
	Handler = peer.Handler
	// An Implementation names a program to the servers.
	Implementation = peer.Implementation
	// A Conn carries raw JSON-RPC to one server.
	Conn = peer.Conn
	// Notify is called with each notification of a server.
	Notify = peer.Notify
	// A Dialer opens the connection to a server.
	Dialer = peer.Dialer
	// An RPCError is the error that a server answered a request with.
	RPCError = peer.RPCError

	// A Catalogue is an immutable snapshot of the tools of servers.
	Catalogue = catalogue.Catalogue
	// A Keeper keeps decisions beyond the life of the process.
	Keeper = catalogue.Keeper

	// An Elicitor puts a server's question to a person.
	Elicitor = supervise.Elicitor
)

// The transports that a [ServerConfig] may name.
const (
	TypeStdio     = peer.TypeStdio
	TypeHTTP      = peer.TypeHTTP
	TypeSSE       = peer.TypeSSE
	TypeMessage   = peer.TypeMessage
	TypeInProcess = peer.TypeInProcess
)

// Protocols that a [ServerConfig] may name beside the revisions with a handshake.
const (
	ProtocolStateless = peer.ProtocolStateless
	ProtocolAuto      = peer.ProtocolAuto
)

// Defaults and limits of one server.
const (
	DefaultProtocol = peer.DefaultProtocol
	DefaultTimeout  = peer.DefaultTimeout
	MaxTimeout      = peer.MaxTimeout
	MaxTools        = catalogue.MaxTools
)

// Kinds of error. Use errors.Is.
var (
	ErrUnknownServer = peer.ErrUnknownServer
	ErrUnavailable   = peer.ErrUnavailable
	ErrLost          = peer.ErrLost
	ErrSession       = peer.ErrSession
	ErrClosed        = peer.ErrClosed
	ErrUnknownTool   = catalogue.ErrUnknownTool
	ErrNotPinned     = catalogue.ErrNotPinned
	ErrChanged       = catalogue.ErrChanged
)
