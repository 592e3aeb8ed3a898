// Package prompts writes what the models read: system prompts, the user message
// with the summary, earlier lines, the question and search results around it, and
// the prompts of the summary. The texts are embedded template files, one for each
// language.
//
// It decides nothing: what goes into a prompt is the agent's choice.
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

// A SystemInput is what a system prompt depends on.
type SystemInput struct {
	// Role names the built-in role text ("dental", "general"); Text replaces it.
	Role string
	Text string
	// Client is system text that the client sent. It goes below the assistant's own,
	// fenced when the assistant has a topic.
	Client   string
	Topic    bool
	Language string
	// Nonce marks this turn's fences.
	Nonce string
	// Tools says that tools are offered; JSON, that the client wants a JSON answer;
	// Limit, why no further tool may be called.
	Tools bool
	JSON  bool
	Limit string
}

// System writes the system prompt of a pass.
func (p *Prompts) System(in SystemInput) (string, error) {
	var b strings.Builder
	if in.Text != "" {
		b.WriteString(strings.TrimSpace(in.Text))
	} else {
		role := in.Role
		if p.templates.Lookup(role+"."+language(in.Language)+".tmpl") == nil {
			role = "general"
		}
		if err := p.render(&b, role, in.Language, in); err != nil {
			return "", err
		}
	}
	text := strings.TrimRight(b.String(), "\n")
	b.Reset()
	b.WriteString(text)
	if err := p.render(&b, "rules", in.Language, in); err != nil {
		return "", err
	}
	text = strings.TrimRight(b.String(), "\n")
	if in.Client == "" {
		return text, nil
	}
	if in.Topic {
		return text + "\n\n" + Fence(in.Nonce, "client", in.Client), nil
	}
	return text + "\n\n" + in.Client, nil
}

// Private returns what no answer should quote of the built-in texts: the fixed text of
// the rules and, unless the operator wrote an own one, of the role, in all languages. What
// stands in brackets is left out: those are facts that an answer may well repeat.
func (p *Prompts) Private(role string, own bool) []string {
	names := []string{"rules"}
	if !own {
		names = append(names, role)
	}
	var texts []string
	for _, name := range names {
		for _, lang := range languages {
			data, err := files.ReadFile("templates/" + name + "." + lang + ".tmpl")
			if err != nil {
				continue // an unknown role is the general one, which says nothing private
			}
			texts = append(texts, outside(string(data))...)
		}
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
