// Package schemas holds the types that cross Molar's packages: messages and their parts, tool
// calls and results, tool descriptions, sources, usage and server status. It also holds the
// strict JSON decoder for every foreign body and the lowering of MCP input schemas for each
// provider.
//
// It imports no other package of Molar, does no I/O, and depends on no SDK.
package schemas
