// Package mcpservers owns the bundled MCP servers and the dispatcher through
// which every transport reaches them: one message in, one message out. [NewAssistants] is a
// server whose tools are the assistants of a host; nobody can be asked for approval there. It
// must not know a transport, a model or the agent.
package mcpservers
