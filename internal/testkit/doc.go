// Package testkit holds what tests of several packages share: certificates of their own
// signature, golden files, programs of this module that are built once, pseudo terminals, and
// what a terminal shows of a program's output.
package testkit
