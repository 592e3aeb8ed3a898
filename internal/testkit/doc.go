// Package testkit contains helpers for the tests of several packages: self-signed certificates,
// golden files, programs of this module that are built once, pseudo-terminals, and a terminal
// screen that interprets a program's output.
package testkit
