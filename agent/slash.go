package agent

import (
	"strings"

	"molar/schemas"
)

// Split splits "/name rest". It rejects paths, dates and lone slashes.
func Split(text string) (name, rest string, ok bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "/") {
		return "", "", false
	}
	name = text[1:]
	if end := strings.IndexAny(name, " \t\r\n"); end >= 0 {
		name, rest = name[:end], strings.TrimSpace(name[end:])
	}
	return name, rest, name != "" && !strings.Contains(name, "/")
}

// Named returns the prompts that "/name" or "/server:name" may mean.
func Named(all []schemas.Prompt, name string) []schemas.Prompt {
	var matches []schemas.Prompt
	for _, p := range all {
		if p.Server+":"+p.Name == name {
			return []schemas.Prompt{p}
		}
		if p.Name == name {
			matches = append(matches, p)
		}
	}
	return matches
}

// Arguments parses the text after a prompt's name: "key=value" pairs when it begins with a key,
// else one word for each argument, the last taking the rest. extra is the text after a prompt
// without arguments.
func Arguments(p schemas.Prompt, rest string) (args map[string]string, extra string) {
	args = make(map[string]string)
	if len(p.Arguments) == 0 {
		return args, rest
	}
	if _, ok := keyAt(p, rest); ok {
		for rest != "" {
			key, _ := keyAt(p, rest)
			value := rest[len(key)+1:]
			end := nextKey(p, value)
			args[key], rest = unquote(strings.TrimSpace(value[:end])), strings.TrimSpace(value[end:])
		}
		return args, ""
	}
	for i, a := range p.Arguments {
		if i == len(p.Arguments)-1 {
			args[a.Name] = unquote(rest)
			break
		}
		word := rest
		if end := strings.IndexAny(rest, " \t\r\n"); end >= 0 {
			word = rest[:end]
		}
		args[a.Name], rest = word, strings.TrimSpace(rest[len(word):])
	}
	for key, value := range args {
		if value == "" {
			delete(args, key)
		}
	}
	return args, ""
}

// keyAt returns the argument whose "name=" text begins with.
func keyAt(p schemas.Prompt, text string) (string, bool) {
	for _, a := range p.Arguments {
		if strings.HasPrefix(text, a.Name+"=") {
			return a.Name, true
		}
	}
	return "", false
}

// nextKey returns the index of the next "name=" after a space, or len(text).
func nextKey(p schemas.Prompt, text string) int {
	for i := 1; i < len(text); i++ {
		if _, ok := keyAt(p, text[i:]); ok && strings.ContainsRune(" \t\r\n", rune(text[i-1])) {
			return i
		}
	}
	return len(text)
}

func unquote(s string) string {
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// Missing returns the required arguments that were not given.
func Missing(p schemas.Prompt, args map[string]string) []string {
	var missing []string
	for _, a := range p.Arguments {
		if a.Required && args[a.Name] == "" {
			missing = append(missing, a.Name)
		}
	}
	return missing
}
