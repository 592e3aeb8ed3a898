// Package mcpservers owns the bundled MCP servers and the dispatcher through which every
// transport reaches them: one message in, one message out. [NewAssistants] returns a server whose
// tools are a host's assistants; it has no person to ask for approval. The package must not
// depend on a transport, a model or the agent.
package mcpservers
