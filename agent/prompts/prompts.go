// Package prompts writes what the models read: system prompts, the user message with
// the passages, the question and the rules of this answer around it, and the prompts of
// the summary. The texts are embedded template files, one for each language.
//
// It decides nothing: what goes into a prompt is the agent's choice. What stands before
// the question is the same in every turn of a conversation, byte by byte: whatever
// belongs to one call only stands behind it.
package prompts

import (
	"embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed templates/*.tmpl
var files embed.FS

// Languages are the languages that prompts exist in.
var languages = [...]string{"en", "vi"}

// Prompts holds the parsed templates. It is safe for concurrent use.
type Prompts struct {
	templates *template.Template
}

// New parses the embedded templates.
func New() (*Prompts, error) {
	t, err := template.ParseFS(files, "templates/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("parse prompt templates: %w", err)
	}
	return &Prompts{templates: t}, nil
}

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
func (p *Prompts) System(in SystemInput) (string, error) {
	var b strings.Builder
	if in.Text != "" {
		b.WriteString(in.Text)
	} else {
		if err := p.render(&b, "general", in.Language, in); err != nil {
			return "", err
		}
	}
	sections := []string{strings.TrimSpace(b.String())}
	b.Reset()
	if err := p.render(&b, "rules", in.Language, in); err != nil {
		return "", err
	}
	sections = append(sections, strings.TrimSpace(b.String()))
	for _, s := range in.Servers {
		sections = append(sections, Fence(s.Server, s.Text))
	}
	if in.Client != "" && in.Topic {
		sections = append(sections, Fence("client", in.Client))
	} else if in.Client != "" {
		sections = append(sections, in.Client)
	}
	return strings.Join(sections, "\n\n"), nil
}

// Private returns what no answer should quote of the built-in texts: that of the rules in
// all languages, and of the roles. What stands in brackets is left out: those are facts
// that an answer may well repeat.
func (p *Prompts) Private(roles ...string) []string {
	var texts []string
	for _, lang := range languages {
		data, err := files.ReadFile("templates/rules." + lang + ".tmpl")
		if err == nil { // it is embedded
			texts = append(texts, outside(string(data))...)
		}
	}
	for _, role := range roles {
		texts = append(texts, outside(role)...)
	}
	return texts
}

// outside cuts a template at its actions and bracketed remarks.
func outside(text string) []string {
	var pieces []string
	for text != "" {
		open := strings.IndexAny(text, "{(")
		if open < 0 {
			return append(pieces, text)
		}
		pieces = append(pieces, text[:open])
		closing := ")"
		if text[open] == '{' {
			closing = "}}"
		}
		_, text, _ = strings.Cut(text[open:], closing)
	}
	return pieces
}

func (p *Prompts) render(b *strings.Builder, name, lang string, data any) error {
	file := name + "." + language(lang) + ".tmpl"
	if err := p.templates.ExecuteTemplate(b, file, data); err != nil {
		return fmt.Errorf("prompt template %s: %w", file, err)
	}
	return nil
}

// language maps an unknown language to English.
func language(lang string) string {
	for _, l := range languages {
		if l == lang {
			return l
		}
	}
	return "en"
}
