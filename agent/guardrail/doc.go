// Package guardrail decides whether a message belongs to an assistant's topic.
//
// It is a cascade: the text is normalised; greetings and clear cases are decided by
// code from the topic's own phrases; what stays doubtful goes to one short model
// call, through a port that the caller fills; when no judge answers in time, the
// configured policy decides. Signs of prompt injection never refuse by themselves:
// they take the right to pass away from the code.
//
// The package imports language and the standard library. It must not know a
// provider, a store or a transport, and nothing of the judged text leaves it but
// the judge's prompt.
package guardrail
