// Package peer holds what an MCP server is to the host: how it is configured and reached,
// a connection to it, the messages that pass, and the kinds of error.
package peer
