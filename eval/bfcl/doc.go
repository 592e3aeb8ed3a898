// Package bfcl judges tool calls by the rules of the Berkeley Function Calling
// Leaderboard: it reads that benchmark's cases and accepted answers and gives the
// verdict of its official checker, quirks included.
//
// It runs nothing and knows nothing of Molar's own cases; package match translates
// for it.
package bfcl
