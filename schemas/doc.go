// Package schemas holds the types that cross Molar's packages: messages and
// their parts, tool calls and results, tool descriptions, sources, usage and
// server status. It also holds the strict JSON decoder that every foreign body
// passes and the lowering of MCP input schemas for each provider.
//
// It imports nothing else of Molar, does no I/O, and knows no SDK.
package schemas
