package mcpclients

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"molar/internal/text"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// discoverTimeout bounds the question to a server of which nothing is known: some older servers
// never answer unknown methods.
const discoverTimeout = 5 * time.Second

// Protocols keeps which revision a server was found to speak, so that it is found out once and not
// at each start. A server is known by its name and by where it is.
type Protocols interface {
	ServerProtocol(ctx context.Context, server, place string) (schemas.ServerProtocol, error)
	KeepServerProtocol(ctx context.Context, server, place string, p schemas.ServerProtocol) error
}

// open connects as the config asks, or else in the way that the server turns out to understand.
func (s *server) open(ctx context.Context) (transport.Conn, serverInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, s.startTimeout())
	defer cancel()
	cfg := *s.Config()
	if cfg.FindsProtocol() {
		return s.negotiate(ctx, cfg)
	}
	conn, info, err := s.openAs(ctx, cfg)
	return conn, info, s.pinRefused(err)
}

// negotiate begins in the way that is known of the server, or else first without a handshake over
// HTTP and with one over stdio, where an older server may exit if its first message is anything
// else. If the server refuses, negotiate begins in the other way.
func (s *server) negotiate(ctx context.Context, cfg transport.ServerConfig) (transport.Conn, serverInfo, error) {
	known := s.known(ctx)
	ways := []string{transport.ProtocolHandshake, transport.ProtocolStateless}
	if known.Revision == transport.ProtocolStateless || known.Revision == "" && cfg.Transport() == transport.TypeHTTP {
		slices.Reverse(ways)
	}
	refusals := map[string]error{}
	for i, way := range ways {
		cfg.Protocol = way
		limit := time.Duration(0)
		if i == 0 && way == transport.ProtocolStateless {
			limit = s.patience(known)
		}
		conn, info, err := s.openWithin(ctx, cfg, limit)
		if err == nil {
			s.learn(ctx, known, info, refusals)
			return conn, info, nil
		}
		refusals[way] = err
		if ctx.Err() != nil || !mayDoOtherwise(way, err) {
			break
		}
	}
	return nil, serverInfo{}, bothRefused(refusals[transport.ProtocolHandshake], refusals[transport.ProtocolStateless])
}

// patience bounds an attempt without a handshake, so that time is left for one with it.
func (s *server) patience(known schemas.ServerProtocol) time.Duration {
	half := s.startTimeout() / 2
	if known.Revision == "" {
		return min(discoverTimeout, half)
	}
	return half
}

// openWithin is openAs within limit; 0 means no limit.
func (s *server) openWithin(ctx context.Context, cfg transport.ServerConfig, limit time.Duration) (transport.Conn, serverInfo, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return s.openAs(ctx, cfg)
}

// mayDoOtherwise reports whether a server that refused to begin in one way may begin in the other.
// A server may dislike the unknown request so much that it hangs or breaks off, while a handshake
// must have been refused.
func mayDoOtherwise(way string, err error) bool {
	if way == transport.ProtocolStateless {
		if status, ok := errors.AsType[*transport.StatusError](err); ok && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden) {
			return true // a firewall may forbid the request alone
		}
		return !transport.IsPermanent(err) && transport.AskedToWait(err) == 0 && !errors.Is(err, transport.ErrUnavailable)
	}
	if _, legacy := errors.AsType[*transport.LegacyError](err); legacy {
		return true
	}
	refused, ok := errors.AsType[*refusedError](err)
	return ok && (!refused.foreign() || slices.Contains(refused.speaks, transport.ProtocolStateless))
}

// known returns what was learnt of the server.
func (s *server) known(ctx context.Context) schemas.ServerProtocol {
	if s.spoken == nil {
		s.spoken = &schemas.ServerProtocol{}
		if kept := s.settings.Protocols; kept != nil {
			var err error
			if *s.spoken, err = kept.ServerProtocol(ctx, s.Name(), s.Config().Identity()); err != nil {
				s.log.Warn("the protocol of the MCP server cannot be read, it is asked again", "error", err)
			}
		}
	}
	return *s.spoken
}

// learn keeps the way in which the server began, unless it would come first anyway. A server that
// still begins with a handshake, but in another version than the one that was asked, is asked again
// at its next start.
func (s *server) learn(ctx context.Context, known schemas.ServerProtocol, info serverInfo, refusals map[string]error) {
	now := schemas.ServerProtocol{Revision: info.Protocol, Version: text.Shorten(text.Visible(info.ServerInfo.Version), 80)}
	switch {
	case len(refusals) == 0 && (known.Revision == "" || known.Revision == transport.ProtocolStateless || known.Version == now.Version):
		return
	case len(refusals) == 0:
		now = schemas.ServerProtocol{}
	case fromGateway(refusals[transport.ProtocolStateless]):
		return
	case s.Look().Protocol == transport.ProtocolStateless && !isRefused(refusals[transport.ProtocolStateless]):
		return // it spoke that until now, and a failure says nothing
	}
	s.spoken = &now
	if kept := s.settings.Protocols; kept != nil {
		if err := kept.KeepServerProtocol(ctx, s.Name(), s.Config().Identity(), now); err != nil {
			s.log.Warn("the protocol of the MCP server cannot be kept", "error", err)
		}
	}
}

// fromGateway reports whether a refusal is of a gateway whose server is away, and says nothing
// about the server.
func fromGateway(err error) bool {
	status, ok := errors.AsType[*transport.StatusError](err)
	return ok && (status.Code == http.StatusBadGateway || status.Code == http.StatusServiceUnavailable || status.Code == http.StatusGatewayTimeout)
}

// A refusedError is a server's answer that it does not begin in the way that it was asked for.
type refusedError struct {
	err    error
	speaks []string // the revisions that it names
}

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// isRefused reports whether a server answered that it does not begin so.
func isRefused(err error) bool {
	_, ok := errors.AsType[*refusedError](err)
	return ok
}

// foreign reports whether the server names revisions, and the host speaks none of them.
func (e *refusedError) foreign() bool {
	return len(e.speaks) > 0 && newestOf(e.speaks, transport.Revisions()) == ""
}

// newestOf returns the first of ours that is among theirs, or "".
func newestOf(theirs, ours []string) string {
	for _, one := range ours {
		if slices.Contains(theirs, one) {
			return one
		}
	}
	return ""
}

// refusedHandshake returns the error of an answer to initialize that is not an agreement.
func refusedHandshake(err error) error {
	if refused, ok := errors.AsType[*transport.RPCError](err); ok {
		return &refusedError{err: fmt.Errorf("initialize was refused with error %d: %s", refused.Code, refused.Message), speaks: offeredVersions(err)}
	}
	if speaks := offeredVersions(err); len(speaks) > 0 {
		return &refusedError{err: err, speaks: speaks}
	}
	return err
}

// noneShared is permanent: one of the two sides must be updated.
func noneShared(err error, speaks []string) error {
	return transport.Permanent("%w: it speaks %s, and this host speaks %s: update one of the two sides",
		err, text.Shorten(text.Visible(strings.Join(speaks, ", ")), 200), strings.Join(transport.Revisions(), ", "))
}

// pinRefused says how to change the config if the server refused the only revision that it allows.
func (s *server) pinRefused(err error) error {
	cfg := s.Config()
	refused, isRefusal := errors.AsType[*refusedError](err)
	legacy, isLegacy := errors.AsType[*transport.LegacyError](err)
	const remedy = "%w: set %s.protocol: auto (or remove it)"
	switch {
	case isRefusal && refused.foreign():
		return noneShared(err, refused.speaks)
	case !cfg.Pinned() || cfg.Needed() || (!isRefusal && (!isLegacy || !legacy.Understood())):
		return err
	case isRefusal && (len(refused.speaks) > 0 || cfg.Protocol == transport.ProtocolStateless && !mayBeTemporary(err)):
		return transport.Permanent(remedy, err, cfg.Place())
	default:
		return &transport.AdvisedError{Err: fmt.Errorf(remedy, err, cfg.Place())}
	}
}

// bothRefused returns why a server could be attached neither with a handshake nor without; each is
// nil if it was not tried.
func bothRefused(handshake, stateless error) error {
	for _, err := range []error{handshake, stateless} {
		if refused, ok := errors.AsType[*refusedError](err); ok && refused.foreign() {
			return noneShared(err, refused.speaks)
		}
	}
	switch {
	case handshake == nil:
		return stateless
	case !saysMore(stateless, handshake):
		return handshake
	default:
		return fmt.Errorf("%w (asked without a handshake: %s)", handshake, text.Shorten(stateless.Error(), 200))
	}
}

// saysMore reports whether err says something that other does not: neither that the method is
// unknown, nor that there was no answer.
func saysMore(err, other error) bool {
	if err == nil || errors.Is(err, context.DeadlineExceeded) || refusalCode(err) == transport.CodeMethodNotFound {
		return false
	}
	status, isStatus := errors.AsType[*transport.StatusError](err)
	if !isStatus {
		return err.Error() != other.Error()
	}
	known, isKnown := errors.AsType[*transport.StatusError](other)
	same := isKnown && known.Error() == status.Error()
	return !same && status.Code != http.StatusNotFound && status.Code != http.StatusMethodNotAllowed
}

// mayBeTemporary reports whether a refusal may come from a gateway, or from a server that is still
// starting.
func mayBeTemporary(err error) bool {
	_, status := errors.AsType[*transport.StatusError](err)
	return status || refusalCode(err) == transport.CodeInternal
}
