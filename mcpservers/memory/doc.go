// Package memory is the bundled MCP server that keeps conversations: the documented
// methods for any client, and the turn methods by which the host reads a
// conversation once and writes a turn once. It owns their shapes and codes; how
// things are kept is the store's, and it must not call a model: summaries are
// written by whoever claims them.
package memory
