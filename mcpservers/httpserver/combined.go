package httpserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/mcpservers"
)

// combinedName is the server name of /mcp.
const combinedName = "molar"

// combine returns one MCP server of both: the tools of the tool server, the conversations as
// resources, the prompts, and the memory server's own methods.
func combine(cfg Config, watchers *subscriptions) (*mcpservers.Dispatcher, error) {
	if cfg.Memory == nil {
		return combineTools(cfg, watchers)
	}
	s := server.NewMCPServer(combinedName, cfg.Version,
		server.WithToolCapabilities(false),
		server.WithResourceCapabilities(true, false),
		server.WithPromptCapabilities(false),
		server.WithHooks(watchers.hooks()),
		server.WithInstructions("Conversations are resources at memory://conversation/{id}. "+
			"The tools search the web, and the guides and documents of this host."))
	for _, tool := range cfg.Tools.MCP().ListTools() {
		s.AddTool(tool.Tool, tool.Handler)
	}
	for _, prompt := range cfg.Memory.MCP().ListPrompts() {
		s.AddPrompt(prompt.Prompt, prompt.Handler)
	}
	methods := map[string]mcpservers.Method{}
	for _, name := range cfg.Memory.Methods() {
		methods[name] = func(ctx context.Context, params json.RawMessage) (any, error) {
			return cfg.Memory.Call(ctx, name, params)
		}
	}
	methods["resources/read"] = func(ctx context.Context, params json.RawMessage) (any, error) {
		result, err := cfg.Memory.Call(ctx, "resources/read", params)
		return result, protocolCode(err)
	}
	return mcpservers.New(mcpservers.Config{
		Name: combinedName, Version: cfg.Version, MCP: s, Methods: methods, Logger: cfg.Logger,
	})
}

// combineTools returns a server with tools only.
func combineTools(cfg Config, watchers *subscriptions) (*mcpservers.Dispatcher, error) {
	s := server.NewMCPServer(combinedName, cfg.Version, server.WithToolCapabilities(false), server.WithHooks(watchers.hooks()))
	for _, tool := range cfg.Tools.MCP().ListTools() {
		s.AddTool(tool.Tool, tool.Handler)
	}
	return mcpservers.New(mcpservers.Config{Name: combinedName, Version: cfg.Version, MCP: s, Logger: cfg.Logger})
}

// protocolCode gives a missing resource the protocol's code.
func protocolCode(err error) error {
	own, ok := errors.AsType[*mcpservers.RPCError](err)
	if !ok || own.Code != mcpservers.CodeResourceNotFound {
		return err
	}
	return &mcpservers.RPCError{Code: mcp.RESOURCE_NOT_FOUND, Message: own.Message, Data: own.Data}
}

// revisionOf returns the revision named in a request, as stateless clients do; "" for all others.
func revisionOf(params json.RawMessage) string {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var version string
	if json.Unmarshal(params, &p) == nil && p.Meta != nil {
		_ = json.Unmarshal(p.Meta[mcp.MetaKeyProtocolVersion], &version) // a non-string counts as none
	}
	return version
}

// modernize adds the fields that the stateless revision requires to the answer of one of this
// server's methods.
func (s *Server) modernize(method string, answer json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(answer, &fields) != nil {
		return answer
	}
	var result map[string]any
	if json.Unmarshal(fields["result"], &result) != nil || result == nil {
		return modernError(fields, answer)
	}
	result["resultType"] = mcp.ResultTypeComplete
	meta, _ := result["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[mcp.MetaKeyServerInfo] = map[string]string{"name": combinedName, "version": s.version}
	result["_meta"] = meta
	if strings.HasPrefix(method, "resources/") {
		result["ttlMs"], result["cacheScope"] = 0, mcp.CacheScopePrivate
	}
	return replaced(fields, "result", result, answer)
}

// modernError gives a missing resource the stateless revision's code.
func modernError(fields map[string]json.RawMessage, answer json.RawMessage) json.RawMessage {
	var failed mcpservers.RPCError
	if json.Unmarshal(fields["error"], &failed) != nil || failed.Code != mcp.RESOURCE_NOT_FOUND {
		return answer
	}
	failed.Code = mcp.INVALID_PARAMS
	return replaced(fields, "error", failed, answer)
}

func replaced(fields map[string]json.RawMessage, name string, v any, otherwise json.RawMessage) json.RawMessage {
	value, err := json.Marshal(v)
	if err != nil {
		return otherwise
	}
	fields[name] = value
	changed, err := json.Marshal(fields)
	if err != nil {
		return otherwise
	}
	return slices.Clip(changed)
}
