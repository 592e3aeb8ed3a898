package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// errCallTimeout is the cause of a ctx that reached the limit of one call.
var errCallTimeout = fmt.Errorf("the call took too long: %w", context.DeadlineExceeded)

func ended(conn Conn) bool {
	select {
	case <-conn.Done():
		return true
	default:
		return false
	}
}

// request sends one request, waiting for the server if need be. repeat allows to
// send it once more after the connection was lost under way.
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
	case ended(conn) && (errors.Is(err, ErrSession) || errors.Is(err, ErrUnavailable)):
		// Refused, or never sent: it had no effect, so a new connection may have it.
		if conn, err = s.readyAfter(ctx, conn); err != nil {
			return nil, err
		}
		raw, err = conn.Request(ctx, method, params)
	case repeat && errors.Is(err, ErrLost):
		if next, nextErr := s.afterLoss(ctx, conn); nextErr == nil {
			raw, err = next.Request(ctx, method, params)
		}
	}
	if refused, ok := errors.AsType[*RPCError](err); ok {
		named := *refused
		named.Server = s.name
		return nil, &named
	}
	return raw, err
}

// afterLoss returns the connection for a request that was lost on conn: the same
// one, if only that exchange broke off.
func (s *server) afterLoss(ctx context.Context, conn Conn) (Conn, error) {
	if !ended(conn) {
		probe, cancel := context.WithTimeout(ctx, probeTimeout)
		_, err := conn.Request(probe, methodPing, nil)
		cancel()
		if err == nil || answered(err) {
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
