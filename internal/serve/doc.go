// Package serve runs the two ports: the API and pages of serve, and the memory and search of
// mcp. It also asks a host that runs already, over HTTP, and leads a person through a login at
// an MCP server.
package serve
