package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"molar/internal/cli"
	"molar/schemas"
	"molar/toolhandler"
)

// FirstQuestion returns a question that shows whether the servers work: for a tool that reads and
// needs no argument, or one whose schema has an example of each. Without such a tool it returns "".
func FirstQuestion(servers []string, tools []schemas.Tool) string {
	type candidate struct {
		text string
		rank int
	}
	var all []candidate
	for _, server := range servers {
		for _, proposed := range toolhandler.Propose(server, tools).Tools {
			i := slices.IndexFunc(tools, func(t schemas.Tool) bool { return t.Server == server && t.ToolName == proposed.Tool })
			if i < 0 || !proposed.Reads || tools[i].Withheld != "" || guarded().MatchString(tools[i].ToolName+" "+tools[i].Description) {
				continue
			}
			arguments, ok := exampleArguments(tools[i].InputSchema)
			if !ok {
				continue
			}
			words := wordsOf(proposed.Tool)
			c := candidate{text: "Use " + server + ": " + words, rank: len(arguments) * 2}
			if !strings.HasPrefix(words, "list") { // what lists shows best what is there
				c.rank++
			}
			if len(arguments) > 0 {
				c.text += ", " + strings.Join(arguments, ", ")
			}
			if isPlain(c.text) {
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	if len(all) == 0 {
		return ""
	}
	return all[0].text
}

// longest is the maximum size of a first question, in bytes.
const longest = 120

// isPlain reports whether a person sees at a glance all that a question says. Parts of it are a server's text, so
// it names no file or resource, as @path does.
func isPlain(question string) bool {
	hidden := func(r rune) bool { return r == '@' || !unicode.IsPrint(r) }
	return len(question) <= longest && !strings.ContainsFunc(question, hidden)
}

// guarded matches a tool that may return secrets, which a first question must not ask for.
func guarded() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\benv|environment|secret|password|credential|token`)
}

// exampleArguments returns the required arguments of a tool with the first example of each, as
// "query Nguyen". It returns false if one has none.
func exampleArguments(schema json.RawMessage) (arguments []string, ok bool) {
	var s struct {
		Required   []string
		Properties map[string]struct{ Examples, Enum []any }
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil, false
	}
	for _, name := range s.Required {
		values := slices.Concat(s.Properties[name].Examples, s.Properties[name].Enum)
		if len(values) == 0 {
			return nil, false
		}
		value, err := json.Marshal(values[0]) // texts in quotes
		if err != nil {
			return nil, false
		}
		arguments = append(arguments, name+" "+string(value))
	}
	return arguments, true
}

// wordsOf returns the words of a tool's name, such as "list allowed directories".
func wordsOf(name string) string {
	apart := regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(name, "$1 $2")
	return strings.ToLower(strings.Join(strings.FieldsFunc(apart, func(r rune) bool { return strings.ContainsRune(" _-./", r) }), " "))
}

// FirstQuestion offers a question. It returns what the person typed, the offered one if they only
// press Enter, and "" if they want none, or at the end of the input.
func (d *Dialogue) FirstQuestion(ctx context.Context, offered string) (string, error) {
	d.say("\nAsk it something, to see that it works? Press Enter for this question, type your own, or n for none:")
	d.say("  %s", offered)
	d.prompt("  >")
	answer, err := cli.ReadLine(ctx, d.In)
	switch {
	case errors.Is(err, io.EOF):
		d.say("")
		return "", nil
	case err != nil:
		return "", err
	}
	switch strings.ToLower(answer) {
	case "":
		return offered, nil
	case "n", "no":
		return "", nil
	}
	return answer, nil
}
