// Package wire is what every surface of the HTTP side reads and writes: bodies of strict
// JSON, error objects, answers, and streams of server-sent events. It knows no route and
// no turn.
package wire
