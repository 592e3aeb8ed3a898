// Package responses is the Responses API over the turns of a host, as specified by Open Responses
// of 2026-04-24 and used by OpenAI's own clients. It reads requests and their items, renders the
// events of a turn as the response's object, items and stream events, and stores responses so that
// they can be read again and continued. A [Sealer] encrypts texts that clients keep, so that only
// this host can read and make them.
//
// A response is rendered once, by a goroutine that follows its turn, into a log of events. The
// client of the request and every later reader of the response read that log.
package responses
