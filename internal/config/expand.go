package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// expand replaces ${NAME} and ${NAME:-default} by values of env, and $$ by $. Any other $ stays.
// The result is not expanded again.
func expand(text string, env func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), nil
		case strings.HasPrefix(rest, "$"):
			b.WriteByte('$')
			text = rest[1:]
		case strings.HasPrefix(rest, "{"):
			inner, after, closed := strings.Cut(rest[1:], "}")
			if !closed {
				return "", errors.New("${ without }; write $${ for the characters themselves")
			}
			value, err := lookUp(inner, env)
			if err != nil {
				return "", err
			}
			b.WriteString(value)
			text = after
		default:
			b.WriteByte('$')
			text = rest
		}
	}
}

// lookUp returns the value of the reference ${inner}. As in a shell, a default also replaces an
// empty variable.
func lookUp(inner string, env func(string) (string, bool)) (string, error) {
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	if value, ok := env(inner); ok && slices.Contains(personValues(), inner) {
		return value, nil
	}
	if !isVariable(name) {
		return "", errors.New("${…} requires the name of an environment variable; write $${ for the characters themselves")
	}
	value, ok := env(name)
	switch {
	case hasFallback && value == "":
		return fallback, nil
	case !ok:
		return "", unsetError{Name: name}
	default:
		return value, nil
	}
}

// An unsetError reports an environment variable that is not set.
type unsetError struct {
	Name string
	// File is a file in which it can be set; empty if there is none.
	File string
}

// Error names the variable and the remedies.
func (e unsetError) Error() string {
	put := ""
	if e.File != "" {
		put = fmt.Sprintf("put %s=… into %s, ", e.Name, e.File)
	}
	return fmt.Sprintf("environment variable %[1]s is not set; %[2]sset it, or write ${%[1]s:-default}", e.Name, put)
}

// isVariable reports whether a text can be the name of a variable.
func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// keepPerson returns env with the values of a person, which stay references: each request has its own.
func keepPerson(env func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if slices.Contains(personValues(), name) {
			return "${" + name + "}", true
		}
		return env(name)
	}
}
