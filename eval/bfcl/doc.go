// Package bfcl judges tool calls by the rules of the Berkeley Function Calling
// Leaderboard: it reads that benchmark's cases and accepted answers and gives the
// verdict of its official checker, quirks included.
// It runs nothing.
package bfcl
