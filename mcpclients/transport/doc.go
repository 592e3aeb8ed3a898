// Package transport opens connections to MCP servers: child processes over their standard
// input and output, streamable HTTP, the older HTTP and SSE, plain JSON-RPC over POST, and
// handlers in this process. It declares how a server is configured ([ServerConfig]), a
// connection to it ([Conn]), its messages, and the kinds of error.
//
// From mcp-go it uses the streamable HTTP transport, behind a guard that bounds what a server may
// send, keeps the status of a refusal and sends credentials to no other host. The package
// implements the others: they bound every message, keep ids and numbers exact, fail what is under
// way as soon as a connection ends, and leave no orphan process: a command runs in a process
// group, with a short list of the host's environment, and ends with the host.
package transport
