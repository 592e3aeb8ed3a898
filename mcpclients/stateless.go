package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// ProtocolStateless is the revision without a handshake: each request carries the
	// revision, the client and what it can do.
	ProtocolStateless = "2026-07-28"
	// ProtocolAuto asks the server which of the two kinds of revision it speaks.
	ProtocolAuto = "auto"

	methodDiscover = "server/discover"
	methodListen   = "subscriptions/listen"

	codeUnsupportedVersion = -32022
	// discoverTimeout bounds the question whether a server is stateless: some older
	// ones never answer what they do not know.
	discoverTimeout = 5 * time.Second
)

// stateless puts into every request what a server without a handshake must know.
type stateless struct {
	Conn
	meta map[string]json.RawMessage
}

func newStateless(conn Conn, host *settings) (*stateless, error) {
	info, err := json.Marshal(host.client)
	if err != nil {
		return nil, err
	}
	return &stateless{Conn: conn, meta: map[string]json.RawMessage{
		"io.modelcontextprotocol/protocolVersion":    json.RawMessage(`"` + ProtocolStateless + `"`),
		"io.modelcontextprotocol/clientInfo":         info,
		"io.modelcontextprotocol/clientCapabilities": host.elicit.capabilities(),
	}}, nil
}

// Inner is the connection below.
func (c *stateless) Inner() Conn { return c.Conn }

func (c *stateless) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == methodPing {
		method = methodDiscover // the revision has no ping
	}
	params, err := c.withMeta(params)
	if err != nil {
		return nil, fmt.Errorf("params of %s: %w", method, err)
	}
	return c.Conn.Request(ctx, method, params)
}

// withMeta merges the fields into the _meta of params.
func (c *stateless) withMeta(params json.RawMessage) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if !isNull(params) {
		if err := json.Unmarshal(params, &fields); err != nil {
			return nil, errors.New("not a JSON object")
		}
	}
	meta := map[string]json.RawMessage{}
	if raw := fields["_meta"]; !isNull(raw) {
		if err := json.Unmarshal(raw, &meta); err != nil {
			return nil, errors.New("its _meta is not a JSON object")
		}
	}
	maps.Copy(meta, c.meta)
	raw, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	fields["_meta"] = raw
	return json.Marshal(fields)
}

// discover asks a stateless server what it is. An answer of any other kind is
// errNotStateless: a server that answers everything with an empty object must not
// pass for one.
func discover(ctx context.Context, conn Conn) (serverInfo, error) {
	raw, err := conn.Request(ctx, methodDiscover, json.RawMessage(`{}`))
	if slices.Contains(offered(err), ProtocolStateless) {
		// It rejects the very revision that it lists; asked again, it may take it.
		raw, err = conn.Request(ctx, methodDiscover, json.RawMessage(`{}`))
	}
	_, refused := errors.AsType[*RPCError](err)
	_, answered := errors.AsType[*statusError](err)
	switch {
	case refused || (answered && !errors.Is(err, ErrLost)):
		return serverInfo{}, fmt.Errorf("%w: %w", errNotStateless, err)
	case err != nil:
		return serverInfo{}, err
	}
	var answer struct {
		Supported    []string     `json:"supportedVersions"`
		Capabilities capabilities `json:"capabilities"`
		Meta         struct {
			Server Implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return serverInfo{}, fmt.Errorf("%w: answer to %s: %w", errNotStateless, methodDiscover, err)
	}
	if !slices.Contains(answer.Supported, ProtocolStateless) {
		return serverInfo{}, fmt.Errorf("%w: it names %q", errNotStateless, answer.Supported)
	}
	return serverInfo{Protocol: ProtocolStateless, ServerInfo: answer.Meta.Server, Capabilities: answer.Capabilities}, nil
}

// offered returns the revisions that a server names as it rejects another.
func offered(err error) []string {
	refused, ok := errors.AsType[*RPCError](err)
	if !ok || refused.Code != codeUnsupportedVersion {
		return nil
	}
	var data struct {
		Supported []string `json:"supported"`
	}
	if json.Unmarshal(refused.Data, &data) != nil {
		return nil
	}
	return data.Supported
}

// errNotStateless means that a server does not speak [ProtocolStateless].
var errNotStateless = errors.New("the server does not speak protocol " + ProtocolStateless)
