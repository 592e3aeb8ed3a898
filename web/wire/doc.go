// Package wire is what every surface of the HTTP side reads and writes: bodies of strict JSON,
// error objects, answers, streams of server-sent events, and the OpenAPI document with the
// schemas of the Go types that handlers read and write. It does not know routes or turns.
package wire
