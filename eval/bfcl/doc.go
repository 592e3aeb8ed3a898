// Package bfcl judges tool calls by the rules of the Berkeley Function Calling
// Leaderboard: it reads that benchmark's cases and accepted answers and gives the
// verdict of its official checker, quirks included. Of several faults in one call it tells
// the first by the argument's name.
// It runs nothing.
package bfcl
