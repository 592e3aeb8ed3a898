package transport

import (
	"context"
	"errors"
	"net/http"
	"time"

	"molar/mcpclients/oauth"
)

// A Host is the host's side of a connection.
type Host struct {
	// Answer answers the server's requests.
	Answer Answerer
	// Login returns the tokens for a server that requires a login; nil disables logins.
	Login *oauth.Source
}

// Dial returns the dialer of all transports. The HTTP transports share client.
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

// Answered reports whether err is an answer of the server, not a lost one.
func Answered(err error) bool {
	_, refused := errors.AsType[*RPCError](err)
	_, status := errors.AsType[*StatusError](err)
	return refused || (status && !errors.Is(err, ErrLost))
}

// AskedToWait returns the wait that a refusing server asks for, or 0.
func AskedToWait(err error) time.Duration {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.After
	}
	return 0
}
