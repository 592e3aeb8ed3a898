// Package terminal writes for people who sit at a terminal: Markdown as styled text
// that streams, lines that fit a width, and foreign text without its control
// sequences.
//
// The editor owns its loop, since a session answers, asks and streams below and above it. It decodes
// keys and measures characters itself: charmbracelet/x/ansi (v0.11.9) splits sequences but does not name
// keys, so that it would replace a tenth of keys.go and add five modules and 0.6 MB; rivo/uniseg (v0.4.7)
// measures more scripts and adds 0.1 MB, but wrapping and painting go by characters with their styles,
// not by clusters.
//
// It does not know turns, tools or models, and the caller decides whether a stream is a
// terminal.
package terminal
