// Package responses is the Responses API, as Open Responses of 2026-04-24 and OpenAI's own
// clients know it, over the turns of a host: what its requests ask for, how what a turn
// yields becomes items and events, and how responses are kept, read again and continued.
//
// A response is told once, by a goroutine that follows its turn, into a log of events.
// Whoever made the request and whoever asks for the response later read that log.
package responses
