package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"molar/mcpclients/transport"
)

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
		mcp.MetaKeyProtocolVersion:    json.RawMessage(`"` + transport.ProtocolStateless + `"`),
		mcp.MetaKeyClientInfo:         info,
		mcp.MetaKeyClientCapabilities: host.Elicit.capabilities(),
	}}, nil
}

// hearLog asks for the server's log with each request: without a handshake none comes unasked.
func (c *stateless) hearLog() {
	c.meta[mcp.MetaKeyLogLevel] = json.RawMessage(`"` + mcp.LoggingLevelInfo + `"`)
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

// discover sends server/discover to a stateless server. An answer of any other shape is a
// [refusedError]: a server that answers everything with an empty object must not pass.
func discover(ctx context.Context, conn transport.Conn) (serverInfo, error) {
	raw, err := conn.Request(ctx, transport.MethodDiscover, json.RawMessage(`{}`))
	if slices.Contains(offeredVersions(err), transport.ProtocolStateless) {
		// It rejects the very revision that it lists; a second request may succeed.
		raw, err = conn.Request(ctx, transport.MethodDiscover, json.RawMessage(`{}`))
	}
	_, refused := errors.AsType[*transport.RPCError](err)
	_, answered := errors.AsType[*transport.StatusError](err)
	switch {
	case transport.IsPermanent(err):
		return serverInfo{}, err
	case refused || (answered && !errors.Is(err, transport.ErrLost)):
		return serverInfo{}, notStateless(err, offeredVersions(err))
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
		return serverInfo{}, notStateless(fmt.Errorf("answer to %s: %w", transport.MethodDiscover, err), nil)
	}
	if !slices.Contains(answer.Supported, transport.ProtocolStateless) {
		return serverInfo{}, notStateless(fmt.Errorf("it names %q", answer.Supported), answer.Supported)
	}
	return serverInfo{Protocol: transport.ProtocolStateless, ServerInfo: answer.Meta.Server, Capabilities: answer.Capabilities, Instructions: answer.Instructions}, nil
}

func notStateless(why error, speaks []string) error {
	return &refusedError{err: fmt.Errorf("the server does not speak protocol %s: %w", transport.ProtocolStateless, why), speaks: speaks}
}

// offeredVersions returns the revisions that a server names when it rejects another.
func offeredVersions(err error) []string {
	refused, ok := errors.AsType[*transport.RPCError](err)
	if status, is := errors.AsType[*transport.StatusError](err); is && status.RPC != nil {
		refused, ok = status.RPC, true
	}
	if !ok || (refused.Code != transport.CodeUnsupportedVersion && refused.Code != transport.CodeInvalidParams) {
		return nil
	}
	var data mcp.UnsupportedProtocolVersionData
	if json.Unmarshal(refused.Data, &data) != nil {
		return nil
	}
	return data.Supported
}
