package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"molar/mcpclients/transport"
)

// errCallTimeout is the cause of a ctx that reached the limit of one call.
var errCallTimeout = fmt.Errorf("the call took too long: %w", context.DeadlineExceeded)

// probeTimeout bounds the ping that decides whether a server that lost a request is lost.
const probeTimeout = 3 * time.Second

func ended(conn transport.Conn) bool {
	select {
	case <-conn.Done():
		return true
	default:
		return false
	}
}

// request sends one request and waits for the server if needed. With repeat it retries once if
// the connection was lost under way.
func (s *server) request(ctx context.Context, method string, params json.RawMessage, repeat bool) (json.RawMessage, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	conn, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := conn.Request(ctx, method, params)
	switch {
	case err == nil:
		return raw, nil
	case ended(conn) && (errors.Is(err, transport.ErrSession) || errors.Is(err, transport.ErrUnavailable)):
		// It was refused or never sent, so it had no effect and is safe on a new connection.
		if conn, err = s.readyAfter(ctx, conn); err != nil {
			return nil, err
		}
		raw, err = conn.Request(ctx, method, params)
	case repeat && errors.Is(err, transport.ErrLost):
		if next, nextErr := s.afterLoss(ctx, conn); nextErr == nil {
			raw, err = next.Request(ctx, method, params)
		}
	}
	if refused, ok := errors.AsType[*transport.RPCError](err); ok {
		named := *refused
		named.Server = s.Name()
		return nil, &named
	}
	return raw, err
}

// afterLoss returns the connection for a request that was lost on conn: conn itself if only that
// exchange broke off.
func (s *server) afterLoss(ctx context.Context, conn transport.Conn) (transport.Conn, error) {
	if !ended(conn) {
		probe, cancel := context.WithTimeout(ctx, probeTimeout)
		_, err := conn.Request(probe, transport.MethodPing, nil)
		cancel()
		if err == nil || transport.Answered(err) {
			return conn, nil
		}
		select {
		case <-conn.Done():
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return s.readyAfter(ctx, conn)
}
