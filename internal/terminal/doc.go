// Package terminal writes for people who sit at a terminal: Markdown as styled text
// that streams, lines that fit a width, and foreign text without its control
// sequences.
//
// It does not know turns, tools or models, and the caller decides whether a stream is a
// terminal.
package terminal
