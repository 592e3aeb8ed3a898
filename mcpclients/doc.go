// Package mcpclients owns the host's connections to MCP servers: their config,
// their processes and sockets, discovery, the catalogue of tools, and calls.
//
// Each server has one supervisor goroutine. What the supervisors learn is
// published as an immutable [Catalogue], so that a turn reads tools without a
// lock and never waits for a slow server. A server that is dead, slow or lying
// costs its own tools and nothing else.
//
// The package decides nothing about whether a tool may be called, never repeats a
// call that may have had an effect unless the operator marked its tool as read-only
// or idempotent, and keeps mcp-go's types to itself.
package mcpclients
