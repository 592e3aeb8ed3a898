package transport

import (
	"context"
	"errors"
	"net/http"
	"time"

	"molar/mcpclients/oauth"
)

// A Host is what the host's side of a connection does for its server.
type Host struct {
	// Answer answers what the server asks of the host.
	Answer Answerer
	// Login gives the tokens of a server that wants a login; nil means that nobody can
	// log in.
	Login *oauth.Source
}

// Dial returns the dialer of all transports. client is shared by those over HTTP.
func Dial(client *http.Client, host Host) Dialer {
	return func(ctx context.Context, cfg ServerConfig, notify Notify) (Conn, error) {
		switch cfg.Transport() {
		case TypeHTTP:
			return dialHTTP(&cfg, host, client, notify)
		case TypeSSE:
			return dialSSE(ctx, &cfg, host, client, notify)
		case TypeMessage:
			return dialPlain(ctx, &cfg, client)
		case TypeInProcess:
			return newInProcess(cfg.InProcess), nil
		default:
			return dialStdio(&cfg, host, notify)
		}
	}
}

// Answered reports whether err is an answer of the server's, and not the loss of one.
func Answered(err error) bool {
	_, refused := errors.AsType[*RPCError](err)
	_, status := errors.AsType[*StatusError](err)
	return refused || (status && !errors.Is(err, ErrLost))
}

// AskedToWait is how long a server that refused asks to be left alone, or 0.
func AskedToWait(err error) time.Duration {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.After
	}
	return 0
}
