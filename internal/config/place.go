package config

import (
	"encoding/json"
	"fmt"
	"strings"

	yaml "github.com/goccy/go-yaml"
)

// whole are the servers as a section of their own.
func (f *HostFile) whole() string {
	if len(f.Servers) == 0 {
		return f.head + "mcpServers: {}\n" + f.entries
	}
	return f.head + "mcpServers:\n" + f.entries
}

// TextFor returns the servers as a text that fits where the mcpServers of a config file take
// more; nil stands for a file without that key, which gets a section of its own.
func (f *HostFile) TextFor(at *Section) (string, error) {
	switch {
	case at == nil || at.Place == Instead:
		return f.whole(), nil
	case at.Place == Inside:
		return f.inBraces(len(at.Names) > 0)
	}
	indent := strings.Repeat(" ", at.Indent)
	var b strings.Builder
	for line := range strings.Lines(f.head) {
		b.WriteString(indent + line)
	}
	for line := range strings.Lines(f.entries) {
		b.WriteString(indent + strings.TrimPrefix(line, ownIndent))
	}
	return b.String(), nil
}

// ownIndent stands before each entry of a section of our own.
const ownIndent = "  "

// inBraces are the servers as JSON, which YAML reads too. more says that others follow.
func (f *HostFile) inBraces(more bool) (string, error) {
	data, err := yaml.YAMLToJSON([]byte(f.whole()))
	if err != nil {
		return "", fmt.Errorf("write the servers in braces: %w", err)
	}
	var file struct {
		Servers json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return "", fmt.Errorf("write the servers in braces: %w", err)
	}
	text := string(file.Servers[1 : len(file.Servers)-1]) // an object, without its own braces
	if more && text != "" {
		text += ", "
	}
	return text, nil
}
