// Package mcpservers owns the bundled MCP servers and the dispatcher through
// which every transport reaches them: one message in, one message out. It must
// not know a transport, a model or the agent.
package mcpservers
