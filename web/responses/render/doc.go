// Package render writes what a turn yields as a response: its object, its items, and the
// events of a stream, as Open Responses and OpenAI's own clients know them.
package render
