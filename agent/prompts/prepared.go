package prompts

import (
	"fmt"
	"strings"

	"molar/agent/subject"
	"molar/schemas"
)

// Prepared returns a server's prompt as part of a question: its messages as data.
func Prepared(labels subject.Labels, p schemas.Prompt, messages []schemas.Message) schemas.Part {
	var lines []string
	for _, m := range messages {
		lines = append(lines, string(m.Role)+": "+m.Said())
	}
	return beside(labels.Prepared + "\n" + fence(p.Server+"/"+p.Name, strings.Join(lines, "\n")))
}

// Usage returns how to type a prompt: required arguments in angle brackets, others in square ones.
func Usage(p schemas.Prompt) string {
	var b strings.Builder
	b.WriteString("/" + p.Name)
	for _, a := range p.Arguments {
		if a.Required {
			fmt.Fprintf(&b, " <%s>", a.Name)
		} else {
			fmt.Fprintf(&b, " [%s]", a.Name)
		}
	}
	return b.String()
}

// Missing returns the text that names the arguments a prompt still needs.
func Missing(lang string, p schemas.Prompt, missing []string) string {
	return fmt.Sprintf(wordsOf(lang).missing, "/"+p.Name, strings.Join(missing, ", "), Usage(p))
}

// Unusable returns the text for a prompt that the server did not return.
func Unusable(lang string, p schemas.Prompt) string {
	return fmt.Sprintf(wordsOf(lang).unusable, "/"+p.Name, p.Server, Usage(p))
}

// Unreadable returns the text for a resource of the question that could not be read.
func Unreadable(lang, resource string) string { return fmt.Sprintf(wordsOf(lang).unreadable, resource) }

// Ambiguous returns the text for a prompt name that several servers have.
func Ambiguous(lang, name string, found []schemas.Prompt) string {
	choices := make([]string, len(found))
	for i, p := range found {
		choices[i] = "`/" + p.Server + ":" + p.Name + "`"
	}
	return fmt.Sprintf(wordsOf(lang).ambiguous, "/"+name, strings.Join(choices, ", "))
}
