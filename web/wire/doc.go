// Package wire has the formats that all surfaces of the HTTP side read and write: bodies of strict
// JSON, error objects, answers, streams of server-sent events, WebSockets, and the OpenAPI document
// with the schemas of the Go types that handlers use. It does not depend on routes or turns.
package wire
