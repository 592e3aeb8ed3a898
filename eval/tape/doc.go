// Package tape reads and writes tapes: files of JSON lines with a header and then one record for
// each event of a conversation, as it crossed the two edges of the host, the model transport and the
// MCP transport. Everything between the edges is the product's own code. The package has no notion of
// cases.
//
// A model call passes the wrapped provider, which notes its pass in the context (slot.go), the
// provider's own code, and the wrapped transport below it (a provider without one gets one: local.go).
// A tool call passes the wrapped connection of its server. What wraps them either records or plays:
//
//   - A tap (tap.go) hands the bytes of both edges to a [Recorder], which adds the events of the turn.
//     A [Keeper] has a recorder for each turn of a running host. A [Builder] writes tapes that were
//     not recorded. All of them write through a [Writer]: it redacts, writes what requests repeat once
//     (fold.go), and seals what came from outside (seal.go). [Tidy] and [Join] write tapes anew
//     (join.go).
//   - [Read] rejects a broken tape, pairs its records, and returns what happened in each turn. A
//     [Player] serves it: playhttp.go finds a model call by turn and pass, playconn.go a frame by
//     method and params. Requests are compared in a form without what is random (canonical.go over
//     request.go), turns by compare.go, tools by contract.go and tools.go; each difference is a
//     [Drift]. Nothing falls back to the network, unless a part is live or the tape was left
//     (fallback.go).
//
// The wires of the services are implemented here again (wires.go, and a write and read side), without
// the providers' code, so that a replay tests the providers.
package tape
