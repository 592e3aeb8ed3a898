// Package match compares the tool calls that a model made with those that were
// expected: argument matchers, the order of a list of calls, and the optimal pairing of
// expected with made calls, so that no verdict depends on the order in which candidates are
// compared. It also finds the differences of two texts.
//
// It reads no files and keeps no state.
package match
