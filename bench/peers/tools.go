package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// toolName is the tool that the model calls.
const toolName = "get_family_details"

// A toolbox is a connected MCP server with its tools.
type toolbox struct {
	client *client.Client
	tools  []mcpTool
}

type mcpTool struct {
	name, description string
	schema            map[string]any
}

func connect(ctx context.Context, address string) (*toolbox, error) {
	c, err := client.NewStreamableHttpClient(address)
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "bench", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return nil, fmt.Errorf("connect to the tools: %w", err)
	}
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, fmt.Errorf("list the tools: %w", err)
	}
	box := &toolbox{client: c}
	for _, t := range list.Tools {
		data, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, err
		}
		var schema map[string]any
		if err := json.Unmarshal(data, &schema); err != nil {
			return nil, err
		}
		box.tools = append(box.tools, mcpTool{t.Name, t.Description, schema})
	}
	return box, nil
}

// call executes a tool and returns its text.
func (b *toolbox) call(ctx context.Context, name, arguments string) (string, error) {
	var args map[string]any
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return "", err
	}
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = name, args
	res, err := b.client.CallTool(ctx, req)
	if err != nil {
		return "", err
	}
	for _, part := range res.Content {
		if text, ok := part.(mcp.TextContent); ok {
			return text.Text, nil
		}
	}
	return "", errors.New("the tool gave no text")
}
