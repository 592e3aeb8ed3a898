// Package guardrail decides whether a message belongs to an assistant's topic.
//
// It is a cascade: the text is normalised; greetings pass; the topic's phrases and a
// trained classifier decide what they are sure of, alone or as a follow-up of the last
// exchange; what stays doubtful goes to one short model call, through a port that the
// caller fills, and its verdicts are cached; when no judge answers in time, the
// configured policy decides. Signs of prompt injection never refuse by themselves:
// they take the right to pass away from the code.
//
// It also owns the training of the classifier and its evaluation on labelled messages.
// It must not know a provider, a store or a transport, and nothing of the judged text
// leaves it but the judge's prompt.
package guardrail
