package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Errors of connections. Use errors.Is.
var (
	// ErrUnknownServer means that no server of that name is configured.
	ErrUnknownServer = errors.New("unknown MCP server")
	// ErrUnavailable means that the server is not attached; nothing was sent to it.
	ErrUnavailable = errors.New("MCP server unavailable")
	// ErrLost means that the connection ended while a request was under way, so it is unknown
	// whether the request had its effect.
	ErrLost = errors.New("connection lost")
	// ErrSession means that the server has forgotten the session and refused the
	// request, which therefore had no effect.
	ErrSession = errors.New("session ended by the server")
	// ErrClosed means that the connection was closed on this side.
	ErrClosed = errors.New("connection closed")
)

// A Conn carries raw JSON-RPC to one server. Request and Notify may be called by
// several goroutines at once.
type Conn interface {
	// Request returns the raw result, or an [*RPCError] when the server answered with an error,
	// or the cause of ctx as soon as ctx ends; it then sends the server a cancellation, except
	// for initialize.
	Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Notify sends a notification.
	Notify(ctx context.Context, method string, params json.RawMessage) error
	// Done is closed when the connection has ended; Err then returns why.
	Done() <-chan struct{}
	Err() error
	// Close fails the requests under way, ends the connection and any process it started, and
	// waits for them.
	Close() error
}

// A Notify handles a server's notifications. It must not block and must not keep params.
type Notify func(method string, params json.RawMessage)

// A Dialer opens the connection to a server. The connection outlives ctx, which
// bounds only the dialing.
type Dialer func(ctx context.Context, server ServerConfig, notify Notify) (Conn, error)

// An RPCError is a server's error answer to a request. Server is empty while it is being attached.
type RPCError struct {
	Server  string
	Method  string
	Code    int
	Message string
	Data    json.RawMessage
}

func (e *RPCError) Error() string {
	who := "the server"
	if e.Server != "" {
		who = fmt.Sprintf("server %q", e.Server)
	}
	return fmt.Sprintf("%s answered %s with error %d: %s", who, e.Method, e.Code, e.Message)
}

// RPCCode returns the JSON-RPC error code, for callers that do not import this package.
func (e *RPCError) RPCCode() int { return e.Code }

// notSent returns the error of a request made after the connection ended with err. The request
// had no effect, whatever err means for others.
func notSent(err error) error {
	return fmt.Errorf("%w: %v", ErrUnavailable, err) //nolint:errorlint // err must not be found
}

// A PermanentError is an error that retrying does not fix.
type permanentError struct{ Err error }

func (e *permanentError) Error() string { return e.Err.Error() }
func (e *permanentError) Unwrap() error { return e.Err }

// Permanent formats an error that a person must fix before a retry makes sense.
func Permanent(format string, args ...any) error {
	return &permanentError{Err: fmt.Errorf(format, args...)}
}

// IsPermanent reports whether a retry is useless.
func IsPermanent(err error) bool {
	_, is := errors.AsType[*permanentError](err)
	return is
}

// Innermost returns the connection inside all wrappers.
func Innermost(conn Conn) Conn {
	for {
		outer, ok := conn.(interface{ Inner() Conn })
		if !ok {
			return conn
		}
		conn = outer.Inner()
	}
}
