// Package importers makes cases and tapes of recordings and data sets of other
// programs, and judges tool calls by the rules of the Berkeley Function Calling Leaderboard,
// with the verdicts of its official checker, quirks included.
//
// An imported recording is served to Molar's own provider code: what is imported are
// bytes of the wire, not their meaning. Whatever cannot be carried over is an error or
// a note, never dropped in silence.
package importers
