// Package httpserver serves the bundled MCP servers on their own port: plain JSON-RPC on
// /jsonrpc, standard MCP over streamable HTTP on /mcp, and the same over standard input and
// output. It owns sessions, subscriptions, the rate limit and the form of answers in each
// transport.
//
// It must not store conversations or search: the memory and tool servers do, through their
// dispatchers. The guard controls access to the port.
package httpserver
