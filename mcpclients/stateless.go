package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"molar/mcpclients/transport"
)

// discoverTimeout bounds the probe for a stateless server: some older servers never answer
// unknown methods.
const discoverTimeout = 5 * time.Second

// stateless adds to every request what a server without a handshake needs.
type stateless struct {
	transport.Conn
	meta map[string]json.RawMessage
}

func newStateless(conn transport.Conn, host *settings) (*stateless, error) {
	info, err := json.Marshal(host.Client)
	if err != nil {
		return nil, err
	}
	return &stateless{Conn: conn, meta: map[string]json.RawMessage{
		"io.modelcontextprotocol/protocolVersion":    json.RawMessage(`"` + transport.ProtocolStateless + `"`),
		"io.modelcontextprotocol/clientInfo":         info,
		"io.modelcontextprotocol/clientCapabilities": host.Elicit.capabilities(),
	}}, nil
}

// Inner returns the wrapped connection.
func (c *stateless) Inner() transport.Conn { return c.Conn }

func (c *stateless) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == transport.MethodPing {
		method = transport.MethodDiscover // the revision has no ping
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
	if !transport.IsNull(params) {
		if err := json.Unmarshal(params, &fields); err != nil {
			return nil, errors.New("not a JSON object")
		}
	}
	meta := map[string]json.RawMessage{}
	if raw := fields["_meta"]; !transport.IsNull(raw) {
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

// discover sends server/discover to a stateless server. An answer of any other shape is
// errNotStateless: a server that answers everything with an empty object must not pass.
func discover(ctx context.Context, conn transport.Conn) (serverInfo, error) {
	raw, err := conn.Request(ctx, transport.MethodDiscover, json.RawMessage(`{}`))
	if slices.Contains(offeredVersions(err), transport.ProtocolStateless) {
		// It rejects the very revision that it lists; a second request may succeed.
		raw, err = conn.Request(ctx, transport.MethodDiscover, json.RawMessage(`{}`))
	}
	_, refused := errors.AsType[*transport.RPCError](err)
	_, answered := errors.AsType[*transport.StatusError](err)
	switch {
	case refused || (answered && !errors.Is(err, transport.ErrLost)):
		return serverInfo{}, fmt.Errorf("%w: %w", errNotStateless, err)
	case err != nil:
		return serverInfo{}, err
	}
	var answer struct {
		Supported    []string     `json:"supportedVersions"`
		Capabilities capabilities `json:"capabilities"`
		Instructions string       `json:"instructions"`
		Meta         struct {
			Server transport.Implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return serverInfo{}, fmt.Errorf("%w: answer to %s: %w", errNotStateless, transport.MethodDiscover, err)
	}
	if !slices.Contains(answer.Supported, transport.ProtocolStateless) {
		return serverInfo{}, fmt.Errorf("%w: it names %q", errNotStateless, answer.Supported)
	}
	return serverInfo{Protocol: transport.ProtocolStateless, ServerInfo: answer.Meta.Server, Capabilities: answer.Capabilities, Instructions: answer.Instructions}, nil
}

// offeredVersions returns the revisions that a server names when it rejects another.
func offeredVersions(err error) []string {
	refused, ok := errors.AsType[*transport.RPCError](err)
	if !ok || (refused.Code != transport.CodeUnsupportedVersion && refused.Code != transport.CodeInvalidParams) {
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
var errNotStateless = errors.New("the server does not speak protocol " + transport.ProtocolStateless)
