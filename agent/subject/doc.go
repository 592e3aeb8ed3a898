// Package subject keeps an assistant to its subject. A [Topic] is data: what belongs to the
// subject, the assistant's texts, and the signs of emergencies. The built-in one is a folder of
// text files; others come from the configuration.
//
// The [Guard] decides whether a message belongs: greetings pass; a trained classifier decides what
// it is sure of, alone or as a follow-up of the last exchange; one short model call, through a port
// that the caller fills, decides the rest; if no judge answers in time, the configured policy does.
// Signs of prompt injection never refuse by themselves: they leave the message to the judge. The
// judged text leaves the guard only in the judge's prompt.
//
// The [Detector] finds emergencies in code alone, so that a person in danger is told to call for
// help even if the model, the search or the network fails. It gives no diagnosis.
//
// The language of a text (Vietnamese with and without diacritics, English, other) is found in
// code too. The classifiers are logistic regressions over hashed features with weights of four
// bits, small enough to be embedded. The package knows no provider, store, transport or turn.
package subject
