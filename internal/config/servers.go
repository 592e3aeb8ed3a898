package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// WithServers returns a copy of cfg with the servers of --mcp added. The default assistant follows
// from them as from the servers of the file.
func (cfg *Config) WithServers(specs []string) (*Config, error) {
	next := *cfg
	next.MCPServers = slices.Clone(cfg.MCPServers)
	for _, spec := range specs {
		name, server, err := ParseServer(spec)
		if err != nil {
			return nil, err
		}
		if _, taken := next.MCPServers.Get(name); taken {
			return nil, fmt.Errorf("--mcp %s: a server of this name is already configured; choose another name", name)
		}
		c := &checker{cfg: &next}
		c.server("--mcp "+name, name, server)
		if err := c.bad.Join(); err != nil {
			return nil, err
		}
		server.Pin = new(bool) // false: the next server of this name may be another program
		next.MCPServers = append(next.MCPServers, Entry[Server]{Name: name, Value: server})
	}
	if fault := next.chooseDefault(); fault != nil {
		return nil, fault
	}
	return &next, nil
}

// checkServers returns the faults that Load would report for a YAML text that contains only
// mcpServers.
func checkServers(text []byte, env func(string) (string, bool)) error {
	cfg := Default()
	cfg.origins = map[string]string{}
	bad := cfg.decode("mcpServers", text, env)
	c := &checker{cfg: cfg}
	c.servers()
	return append(bad, c.bad.Without(bad)...).Join()
}

// ParseServer parses a --mcp value: NAME="command line" or NAME=https://address. The command line
// is split into words as by a shell, but variables, globs and pipes are not supported.
func ParseServer(spec string) (string, Server, error) {
	name, rest, found := strings.Cut(spec, "=")
	name, rest = strings.TrimSpace(name), strings.TrimSpace(rest)
	if !found || name == "" || rest == "" {
		return "", Server{}, errors.New(`--mcp: want NAME="command line" or NAME=https://address`)
	}
	if strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://") {
		return name, Server{URL: rest}, nil
	}
	words, err := SplitWords(rest)
	if err != nil {
		return "", Server{}, fmt.Errorf("--mcp %s: %w", name, err)
	}
	return name, Server{Command: words[0], Args: words[1:]}, nil
}

// SplitWords splits a command line at spaces. Everything in single quotes is literal. In double
// quotes, a backslash escapes only " and \; outside of quotes, it escapes any character.
func SplitWords(line string) ([]string, error) {
	var (
		words  []string
		word   strings.Builder
		inWord bool
		quote  rune
	)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		next := i+1 < len(runes)
		switch {
		case quote == 0 && unicode.IsSpace(r):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote == r:
			quote = 0
		case r == '\\' && next && (quote == 0 || quote == '"' && strings.ContainsRune(`"\`, runes[i+1])):
			i++
			word.WriteRune(runes[i])
		default:
			word.WriteRune(r)
		}
		inWord = true
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("want a program to run")
	}
	return words, nil
}
