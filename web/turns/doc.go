// Package turns runs turns for all surfaces of the HTTP side: until the client leaves or beyond,
// with a log of their events for any number of readers, with the replay of the answer of an
// Idempotency-Key, and with approvals and questions for a person. Surfaces render the answer.
package turns
