// Package memory is the bundled MCP server that stores conversations: the documented methods for
// any client, and the turn methods by which the host reads a conversation once and writes a turn
// once. It owns their shapes and codes; storage is the store's, and it must not call a model: the
// worker that claims a summary writes it.
package memory
