// Package supervise keeps one MCP server attached: it starts it, shakes hands, lists its
// tools, notices when it is lost and tries again, and sends it requests meanwhile. Each
// server has one supervisor goroutine, which alone changes where the server stands.
//
// It never repeats a call that may have had an effect unless the operator marked its tool
// as read-only or idempotent.
package supervise
