// Package turns holds what every surface of the HTTP side does with a turn: it runs it to its
// client's end or beyond, logs its events for any number of readers, repeats the answer of an
// Idempotency-Key, and asks a person about calls. Surfaces render the answer.
package turns
