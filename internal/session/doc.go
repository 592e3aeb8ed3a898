// Package session is the terminal application: one question with its answer, or a session
// with commands, completion, approvals, forms of MCP servers and earlier conversations.
package session
