// Package importers converts recordings and data sets of other programs to cases and tapes.
// It also judges tool calls by the rules of the Berkeley Function Calling Leaderboard,
// with the verdicts of its official checker, quirks included.
//
// An imported recording is served to Molar's provider code, so it is imported as the bytes
// on the wire, not by their meaning. Whatever cannot be converted is an error or
// a note, never dropped silently.
package importers
