// Package turns holds what every surface of the HTTP side does with a turn: it runs it to
// its client's end or beyond, logs what it yields for any number of readers, repeats the
// answer of an Idempotency-Key, and asks a person about calls. How an answer looks is the
// surfaces' own affair.
package turns
