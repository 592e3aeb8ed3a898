// Package httpserver puts the bundled MCP servers on a port of their own: plain
// JSON-RPC on /jsonrpc, standard MCP over streamable HTTP on /mcp, and the same
// over standard input and output. It owns sessions, subscriptions, the limit of
// calls and what each transport makes of an answer.
//
// It must not keep conversations or search: the memory and tool servers do, behind
// their dispatchers. Who may reach the port is the guard's to say.
package httpserver
