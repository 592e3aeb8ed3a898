package mcpclients

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"molar/schemas"
)

// The methods that the manager itself uses.
const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodCancelled   = "notifications/cancelled"
	methodListChanged = "notifications/tools/list_changed"
	methodProgress    = "notifications/progress"
	methodPing        = "ping"
	methodListTools   = "tools/list"
	methodCallTool    = "tools/call"
)

// maxPages bounds the pages of one tool list.
const maxPages = 500

// serverInfo is what a server said of itself when it was initialized.
type serverInfo struct {
	Protocol     string         `json:"protocolVersion"`
	ServerInfo   Implementation `json:"serverInfo"`
	Capabilities capabilities   `json:"capabilities"`

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
func initialize(ctx context.Context, conn Conn, protocol string, host *settings) (serverInfo, error) {
	params, err := json.Marshal(map[string]any{
		"protocolVersion": protocol, "capabilities": host.elicit.capabilities(), "clientInfo": host.client,
	})
	if err != nil {
		return serverInfo{}, err
	}
	raw, err := conn.Request(ctx, methodInitialize, params)
	if err != nil {
		return serverInfo{}, err
	}
	var info serverInfo
	if err := json.Unmarshal(raw, &info); err != nil {
		return serverInfo{}, fmt.Errorf("answer to initialize: %w", err)
	}
	if !slices.Contains(handshakes(), info.Protocol) {
		return serverInfo{}, permanent("it answered with protocol version %q, which is none of %s: update one of the two sides",
			info.Protocol, strings.Join(handshakes(), ", "))
	}
	if v, ok := innermost(conn).(versionSetter); ok {
		v.SetProtocolVersion(info.Protocol)
	}
	return info, conn.Notify(ctx, methodInitialized, nil)
}

// A toolPage is one answer to tools/list.
type toolPage struct {
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor"`
}

// listTools reads the whole list, page by page and tool by tool. A malformed tool
// is skipped with its reason; its neighbours stay.
func listTools(ctx context.Context, conn Conn, server string) (tools []schemas.ToolInfo, skipped []string, err error) {
	found := toolSet{server: server, seen: map[string]bool{}}
	seen := map[string]bool{}
	cursor := ""
	for range maxPages {
		page, err := requestPage(ctx, conn, cursor)
		if err != nil {
			return nil, nil, err
		}
		for _, raw := range page.Tools {
			found.add(raw)
		}
		cursor = page.NextCursor
		if cursor == "" {
			return found.tools, found.reasons(), nil
		}
		if seen[cursor] {
			return nil, nil, fmt.Errorf("tools/list repeats the page cursor %q without end", cutText(cursor, 60))
		}
		seen[cursor] = true
	}
	found.skipped = append(found.skipped, fmt.Sprintf("the tool list goes on after %d pages; the rest was not read", maxPages))
	return found.tools, found.reasons(), nil
}

func requestPage(ctx context.Context, conn Conn, cursor string) (toolPage, error) {
	params := json.RawMessage(`{}`)
	if cursor != "" {
		var err error
		if params, err = json.Marshal(map[string]string{"cursor": cursor}); err != nil {
			return toolPage{}, err
		}
	}
	raw, err := conn.Request(ctx, methodListTools, params)
	if err != nil {
		return toolPage{}, err
	}
	var page toolPage
	if err := json.Unmarshal(raw, &page); err != nil {
		return toolPage{}, fmt.Errorf("answer to tools/list: %w", err)
	}
	return page, nil
}
