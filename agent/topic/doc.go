// Package topic holds what a subject brings to an assistant that keeps to it: what
// belongs to it, the words in which the assistant speaks with a person, and the signs of
// emergencies. The built-in subject is a folder of text files; others come from the
// configuration.
//
// It decides nothing: the guardrail, the emergency detector and the prompts read it.
package topic
