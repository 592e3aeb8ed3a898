package mcpclients

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"molar/mcpclients/transport"
)

// serverInfo is what a server said of itself when it was initialized.
type serverInfo struct {
	Protocol     string                   `json:"protocolVersion"`
	ServerInfo   transport.Implementation `json:"serverInfo"`
	Capabilities capabilities             `json:"capabilities"`
	Instructions string                   `json:"instructions"`

	transport string // that was used in the end
}

// capabilities holds what the manager wants to know of a server's.
type capabilities struct {
	Tools   *toolsCapability   `json:"tools"`
	Prompts *promptsCapability `json:"prompts"`
}

type promptsCapability struct {
	ListChanged bool `json:"listChanged"`
}

type toolsCapability struct {
	ListChanged bool `json:"listChanged"`
}

// initialize shakes hands.
func initialize(ctx context.Context, conn transport.Conn, protocol string, host *Settings) (serverInfo, error) {
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
	if !slices.Contains(transport.Handshakes(), info.Protocol) {
		return serverInfo{}, transport.Permanent("it answered with protocol version %q, which is none of %s: update one of the two sides",
			info.Protocol, strings.Join(transport.Handshakes(), ", "))
	}
	if v, ok := transport.Innermost(conn).(interface{ SetProtocolVersion(version string) }); ok {
		v.SetProtocolVersion(info.Protocol)
	}
	return info, conn.Notify(ctx, transport.MethodInitialized, nil)
}
