// Package terminal writes for people who sit at a terminal: Markdown as styled text
// that streams, lines that fit a width, and foreign text without its control
// sequences.
//
// It knows nothing of turns, tools or models, and it never decides whether a stream
// is a terminal: the caller does.
package terminal
