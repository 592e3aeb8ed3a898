// Package responses is the Responses API, as Open Responses of 2026-04-24 and OpenAI's own
// clients know it, over the turns of a host: it reads requests and their items, renders the
// events of a turn as the response's object, items and stream events, and keeps responses so
// that they can be read again and continued. A [Sealer] hands texts to clients that only this
// host can read and make.
//
// A response is rendered once, by a goroutine that follows its turn, into a log of events. The
// client of the request and every later reader of the response read that log.
package responses
