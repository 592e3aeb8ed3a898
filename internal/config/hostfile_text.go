package config

import (
	"encoding/json"
	"fmt"
	"strings"

	yaml "github.com/goccy/go-yaml"
)

// document returns the servers below the key mcpServers.
func (f *HostFile) document() string {
	if len(f.Servers) == 0 {
		return f.head + "mcpServers: {}\n" + f.entries
	}
	return f.head + "mcpServers:\n" + f.entries
}

// TextFor returns the servers as a text to insert at the mcpServers of a config file. For a file
// without that key, at is nil and the text contains the key.
func (f *HostFile) TextFor(at *Section) (string, error) {
	switch {
	case at == nil || at.Place == Instead:
		return f.document(), nil
	case at.Place == Inside:
		return f.flowText(len(at.Names) > 0)
	}
	indent := strings.Repeat(" ", at.Indent)
	var b strings.Builder
	for line := range strings.Lines(f.head) {
		b.WriteString(indent + line)
	}
	for line := range strings.Lines(f.entries) {
		b.WriteString(indent + strings.TrimPrefix(line, entryIndent))
	}
	return b.String(), nil
}

// entryIndent is the indent of the entries in HostFile.entries.
const entryIndent = "  "

// flowText returns the servers as JSON, which is valid YAML, without the outer braces. more adds a
// comma for the entries that follow.
func (f *HostFile) flowText(more bool) (string, error) {
	data, err := yaml.YAMLToJSON([]byte(f.document()))
	if err != nil {
		return "", fmt.Errorf("write the servers in braces: %w", err)
	}
	var file struct {
		Servers json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return "", fmt.Errorf("write the servers in braces: %w", err)
	}
	text := string(file.Servers[1 : len(file.Servers)-1]) // without the outer braces
	if more && text != "" {
		text += ", "
	}
	return text, nil
}
