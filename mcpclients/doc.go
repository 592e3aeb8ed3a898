// Package mcpclients owns the host's connections to MCP servers. Its [Manager] holds the
// configured servers, applies a new config, and answers for all of them: their tools,
// prompts, resources and calls.
//
// A [server] keeps one of them attached: one goroutine starts it, shakes hands, lists its tools,
// notices its loss and retries. No call that may have had an effect is retried unless the
// operator marked its tool as read-only or idempotent. Tools are published as an immutable
// [Catalogue], so that a turn reads them without a lock and never waits for a slow server;
// switches and pins are applied there. Results, resources and prompts are read as text and links.
//
// A dead, slow or lying server costs its own tools only. The package does not decide whether a
// tool may be called. Package transport opens connections, package oauth logs in.
package mcpclients
