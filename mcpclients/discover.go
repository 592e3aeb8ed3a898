package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"molar/internal/text"
	"molar/mcpclients/transport"
)

// serverInfo is a server's answer to initialize or discover.
type serverInfo struct {
	Protocol     string                   `json:"protocolVersion"`
	ServerInfo   transport.Implementation `json:"serverInfo"`
	Capabilities capabilities             `json:"capabilities"`
	Instructions string                   `json:"instructions"`

	transport string // the one that worked
}

// capabilities are the server capabilities that the manager uses.
type capabilities struct {
	Tools   *toolsCapability   `json:"tools"`
	Prompts *promptsCapability `json:"prompts"`
	Logging json.RawMessage    `json:"logging"` // of any form: that it is there counts
}

type promptsCapability struct {
	ListChanged bool `json:"listChanged"`
}

type toolsCapability struct {
	ListChanged bool `json:"listChanged"`
}

// initialize performs the handshake.
func initialize(ctx context.Context, conn transport.Conn, protocol string, host *settings) (serverInfo, error) {
	params, err := json.Marshal(map[string]any{
		"protocolVersion": protocol, "capabilities": host.Elicit.capabilities(), "clientInfo": host.Client,
	})
	if err != nil {
		return serverInfo{}, err
	}
	raw, err := conn.Request(ctx, transport.MethodInitialize, params)
	if err != nil {
		return serverInfo{}, err
	}
	var info serverInfo
	if err := json.Unmarshal(raw, &info); err != nil {
		return serverInfo{}, fmt.Errorf("answer to initialize: %w", err)
	}
	switch {
	case info.Protocol == "":
		return serverInfo{}, &refusedError{err: errors.New("it answered initialize without a protocol version")}
	case !slices.Contains(transport.Handshakes(), info.Protocol):
		return serverInfo{}, &refusedError{
			err: fmt.Errorf("it answered initialize with protocol version %q", text.Shorten(text.Visible(info.Protocol), 40)), speaks: []string{info.Protocol},
		}
	}
	if v, ok := transport.Innermost(conn).(interface{ SetProtocolVersion(version string) }); ok {
		v.SetProtocolVersion(info.Protocol)
	}
	return info, conn.Notify(ctx, transport.MethodInitialized, nil)
}
