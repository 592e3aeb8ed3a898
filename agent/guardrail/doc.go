// Package guardrail decides whether a message belongs to an assistant's topic.
//
// It is a cascade: the text is normalised; greetings pass; a trained classifier
// decides what it is sure of, alone or as a follow-up of the last exchange; what stays doubtful goes to one short model call, through a port that the
// caller fills, and its verdicts are cached; when no judge answers in time, the
// configured policy decides. Signs of prompt injection never refuse by themselves:
// they leave the message to the judge.
//
// It also tells what of the conversation a message leans on. Training data become
// lessons in train, and labelled messages are judged in scoring.
// It must not know a provider, a store or a transport, and nothing of the judged text
// leaves it but the judge's prompt.
package guardrail

//go:generate go run ./train talk
//go:generate go run ./train
