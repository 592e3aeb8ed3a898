package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// readEnvFile reads a .env file: KEY=VALUE lines with an optional "export", and comments after #.
// Values are plain, in single quotes (verbatim) or in double quotes (with the escapes \n, \t, \",
// \$ and \\).
func readEnvFile(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the env file: %w", err)
	}
	return ParseEnvFile(path, data)
}

// ParseEnvFile parses the content of a .env file. Its errors begin with name.
func ParseEnvFile(name string, data []byte) (map[string]string, error) {
	vars, err := parseEnvLines(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return vars, nil
}

// parseEnvLines parses the lines of a .env file. Its errors begin with the number of the line and
// never contain a value.
func parseEnvLines(text string) (map[string]string, error) {
	vars := map[string]string{}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name = strings.TrimSpace(name)
		if !found || !isVariable(name) {
			return nil, fmt.Errorf("%d: want KEY=VALUE", n)
		}
		value, err := envValue(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("%d: %s: %w", n, name, err)
		}
		vars[name] = value
	}
	return vars, nil
}

func envValue(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	switch raw[0] {
	case '\'':
		value, rest, closed := strings.Cut(raw[1:], "'")
		return value, afterQuote(closed, rest)
	case '"':
		value, rest, closed := cutDoubleQuoted(raw[1:])
		return value, afterQuote(closed, rest)
	}
	if i := strings.Index(raw, " #"); i >= 0 {
		raw = raw[:i]
	}
	return strings.TrimSpace(raw), nil
}

func afterQuote(closed bool, rest string) error {
	rest = strings.TrimSpace(rest)
	if !closed {
		return errors.New("the quote is not closed")
	}
	if rest != "" && rest[0] != '#' {
		return errors.New("text after the closing quote")
	}
	return nil
}

func cutDoubleQuoted(s string) (value, rest string, closed bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteString(unescape(s[i]))
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// EnvLine returns the line of a variable, in the form that [ParseEnvFile] reads, without the line
// end.
func EnvLine(name, value string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,"
	switch {
	case strings.Trim(value, plain) == "":
		return name + "=" + value
	case !strings.ContainsAny(value, "'\n"):
		return name + "='" + value + "'"
	default:
		return name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
	}
}

func unescape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case '"', '\\', '$':
		return string(c)
	default:
		return `\` + string(c)
	}
}
