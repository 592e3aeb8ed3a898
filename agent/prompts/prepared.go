package prompts

import (
	"fmt"
	"strings"

	"molar/agent/subject"
	"molar/schemas"
)

// Prepared is a prompt of a server as part of a question: its messages as data.
func Prepared(labels subject.Labels, p schemas.Prompt, messages []schemas.Message) schemas.Part {
	var lines []string
	for _, m := range messages {
		lines = append(lines, string(m.Role)+": "+m.Said())
	}
	return beside(labels.Prepared + "\n" + Fence(p.Server+"/"+p.Name, strings.Join(lines, "\n")))
}

// Usage shows how a prompt is typed: required arguments in angle brackets, others in
// square ones.
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

// Missing tells a person which arguments a prompt still needs.
func Missing(lang string, p schemas.Prompt, missing []string) string {
	return fmt.Sprintf(wordsOf(lang).missing, "/"+p.Name, strings.Join(missing, ", "), Usage(p))
}

// Unusable tells a person that the server did not give the prompt.
func Unusable(lang string, p schemas.Prompt) string {
	return fmt.Sprintf(wordsOf(lang).unusable, "/"+p.Name, p.Server, Usage(p))
}

// Unreadable tells a person that a resource that the question names could not be read.
func Unreadable(lang, resource string) string { return fmt.Sprintf(wordsOf(lang).unreadable, resource) }

// Ambiguous tells a person that several servers have a prompt of the name.
func Ambiguous(lang, name string, found []schemas.Prompt) string {
	choices := make([]string, len(found))
	for i, p := range found {
		choices[i] = "`/" + p.Server + ":" + p.Name + "`"
	}
	return fmt.Sprintf(wordsOf(lang).ambiguous, "/"+name, strings.Join(choices, ", "))
}
