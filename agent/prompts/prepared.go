package prompts

import (
	"fmt"
	"strings"

	"molar/schemas"
)

// Prepared is a prompt of a server as part of a question: its messages as data.
func Prepared(lang, nonce string, p schemas.Prompt, messages []schemas.Message) schemas.Part {
	type line struct {
		Role schemas.Role `json:"role"`
		Text string       `json:"text"`
	}
	var lines []line
	for _, m := range messages {
		lines = append(lines, line{m.Role, m.Said()})
	}
	value := struct {
		Prompt   string `json:"prompt"`
		Messages []line `json:"messages"`
	}{p.Name, lines}
	return context(wordsOf(lang).prepared + "\n" + Fence(nonce, p.Server, value))
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

// Ambiguous tells a person that several servers have a prompt of the name.
func Ambiguous(lang, name string, found []schemas.Prompt) string {
	choices := make([]string, len(found))
	for i, p := range found {
		choices[i] = "`/" + p.Server + ":" + p.Name + "`"
	}
	return fmt.Sprintf(wordsOf(lang).ambiguous, "/"+name, strings.Join(choices, ", "))
}
