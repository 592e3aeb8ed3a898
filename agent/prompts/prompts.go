// Package prompts writes the texts that models read: system prompts, the user message with the
// passages, the question and the rules of this answer around it, and the prompts of the summary.
//
// It decides nothing: the agent chooses what goes into a prompt. The text before the question is
// the same byte for byte in every turn of a conversation: anything for one call only comes after
// the question.
package prompts

import (
	"cmp"
	"strings"

	"molar/agent/subject"
	"molar/schemas"
)

// languages are the languages of prompts.
var languages = [...]string{subject.English, subject.Vietnamese}

// A SystemInput is the input of a system prompt: the assistant and the language of the
// conversation. It holds nothing that changes from one model call to the next.
type SystemInput struct {
	// Text describes the assistant: the operator's prompt, or the topic's. Empty means the general
	// one.
	Text string
	// Client is system text that the client sent. It goes below the assistant's own,
	// fenced when the assistant has a topic.
	Client   string
	Topic    bool
	Language string
	// Tools is set if tools are offered in this turn.
	Tools bool
	// Skills are those that the model may read; MoreSkills is set if it must look for others. Only with Tools.
	Skills     []schemas.Skill
	MoreSkills bool
	// Servers are the attached servers' instructions for their tools.
	Servers []Instructions
}

// Instructions are a server's instructions for its tools.
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
	if text := skills(in, w); text != "" {
		sections = append(sections, text)
	}
	for _, s := range in.Servers {
		sections = append(sections, fence(s.Server, s.Text))
	}
	if in.Client != "" && in.Topic {
		sections = append(sections, fence("client", in.Client))
	} else if in.Client != "" {
		sections = append(sections, in.Client)
	}
	return strings.Join(sections, "\n\n")
}

// skills returns the rule of skills and a line for each.
func skills(in SystemInput, w words) string {
	if !in.Tools || len(in.Skills) == 0 && !in.MoreSkills {
		return ""
	}
	lines := []string{w.skillRule}
	if in.MoreSkills {
		lines[0] += " " + w.moreSkills
	}
	for _, s := range in.Skills {
		lines = append(lines, "- "+harmless(s.Name+": "+s.Description))
	}
	return strings.Join(lines, "\n")
}

// Private returns the built-in texts that no answer should quote: the rules in all languages, and
// the roles without their bracketed remarks, which are facts that an answer may repeat.
func Private(roles ...string) []string {
	var texts []string
	for _, lang := range languages {
		w := wordsOf(lang)
		texts = append(texts, w.toolRule, w.dataRule, w.skillRule)
	}
	for _, role := range roles {
		texts = append(texts, outside(role)...)
	}
	return texts
}

// outside returns the pieces of a text outside its brackets.
func outside(text string) []string {
	var pieces []string
	for text != "" {
		piece, remark, _ := strings.Cut(text, "(")
		pieces = append(pieces, piece)
		_, text, _ = strings.Cut(remark, ")")
	}
	return pieces
}
