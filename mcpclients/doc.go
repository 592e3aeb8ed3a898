// Package mcpclients owns the host's connections to MCP servers. Its [Manager] holds the
// configured servers, applies a new config, and answers for all of them: their tools,
// prompts, resources and calls.
//
// What the supervisors learn is published as an immutable [Catalogue], so that a turn
// reads tools without a lock and never waits for a slow server. A server that is dead,
// slow or lying costs its own tools and nothing else. The package decides nothing about
// whether a tool may be called.
//
// Its parts: peer says what a server is to the host, transport opens connections (and
// process the commands behind them), supervise keeps one server attached, catalogue holds
// what the servers offer, content reads what they answer, oauth logs in at them.
package mcpclients
