// Package prompts writes what the models read: system prompts, the user message with
// the passages, the question and the rules of this answer around it, and the prompts of
// the summary.
//
// It decides nothing: what goes into a prompt is the agent's choice. What stands before
// the question is the same in every turn of a conversation, byte by byte: whatever
// belongs to one call only stands behind it.
package prompts

import (
	"cmp"
	"strings"

	"molar/agent/subject"
)

// languages are those that prompts are written in.
var languages = [...]string{subject.English, subject.Vietnamese}

// A SystemInput is what a system prompt depends on: the assistant and the language of
// the conversation, nothing of a single call.
type SystemInput struct {
	// Text says who the assistant is: the operator's prompt, or the topic's. Empty means
	// the general one.
	Text string
	// Client is system text that the client sent. It goes below the assistant's own,
	// fenced when the assistant has a topic.
	Client   string
	Topic    bool
	Language string
	// Tools says that tools are offered in this turn.
	Tools bool
	// Servers are what attached servers say of the use of their tools.
	Servers []Instructions
}

// Instructions are a server's own words on how its tools are used.
type Instructions struct{ Server, Text string }

// System writes the system prompt of a turn; all of its passes share it.
func System(in SystemInput) string {
	w := wordsOf(in.Language)
	general := w.general
	if in.Tools {
		general = w.generalWithTools
	}
	sections := []string{strings.TrimSpace(cmp.Or(in.Text, general))}
	if in.Tools {
		sections = append(sections, w.toolRule)
	}
	sections = append(sections, w.dataRule)
	for _, s := range in.Servers {
		sections = append(sections, Fence(s.Server, s.Text))
	}
	if in.Client != "" && in.Topic {
		sections = append(sections, Fence("client", in.Client))
	} else if in.Client != "" {
		sections = append(sections, in.Client)
	}
	return strings.Join(sections, "\n\n")
}

// Private returns what no answer should quote of the built-in texts: the rules in all
// languages, and the roles. What stands in brackets is left out: those are facts that an
// answer may well repeat.
func Private(roles ...string) []string {
	var texts []string
	for _, lang := range languages {
		w := wordsOf(lang)
		texts = append(texts, w.toolRule, w.dataRule)
	}
	for _, role := range roles {
		texts = append(texts, outside(role)...)
	}
	return texts
}

// outside cuts a text at its bracketed remarks.
func outside(text string) []string {
	var pieces []string
	for text != "" {
		piece, remark, _ := strings.Cut(text, "(")
		pieces = append(pieces, piece)
		_, text, _ = strings.Cut(remark, ")")
	}
	return pieces
}
