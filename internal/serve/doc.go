// Package serve runs the two ports: the API and pages of serve, and the memory and search of
// mcp. It also queries a running host over HTTP, and guides a person through a login at an MCP
// server.
package serve
