// Package transport opens connections to MCP servers: child processes over their standard
// input and output, streamable HTTP, the older HTTP and SSE, plain JSON-RPC over POST, and
// handlers in this process.
//
// Of mcp-go it uses the streamable HTTP transport, behind a guard that bounds what a
// server may send, keeps the status of a refusal and takes credentials to no other host.
// The others are its own: they bound every message, keep ids and numbers exact, fail what
// is under way as soon as a connection ends, and leave no process behind.
package transport

import (
	"context"
	"errors"
	"net/http"
	"time"

	"molar/mcpclients/oauth"
	"molar/mcpclients/peer"
)

// A Host is what the host's side of a connection does for its server.
type Host struct {
	// Answer answers what the server asks of the host.
	Answer peer.Answerer
	// Login gives the tokens of a server that wants a login; nil means that nobody can
	// log in.
	Login *oauth.Source
}

// Dial returns the dialer of all transports. client is shared by those over HTTP.
func Dial(client *http.Client, host Host) peer.Dialer {
	return func(ctx context.Context, cfg peer.ServerConfig, notify peer.Notify) (peer.Conn, error) {
		switch cfg.Transport() {
		case peer.TypeHTTP:
			return dialHTTP(&cfg, host, client, notify)
		case peer.TypeSSE:
			return dialSSE(ctx, &cfg, host, client, notify)
		case peer.TypeMessage:
			return dialPlain(ctx, &cfg, client)
		case peer.TypeInProcess:
			return newInProcess(cfg.InProcess), nil
		default:
			return dialStdio(&cfg, host, notify)
		}
	}
}

// Answered reports whether err is an answer of the server's, and not the loss of one.
func Answered(err error) bool {
	_, refused := errors.AsType[*peer.RPCError](err)
	_, status := errors.AsType[*StatusError](err)
	return refused || (status && !errors.Is(err, peer.ErrLost))
}

// AskedToWait is how long a server that refused asks to be left alone, or 0.
func AskedToWait(err error) time.Duration {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.After
	}
	return 0
}
