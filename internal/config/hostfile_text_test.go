package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
)

// paste inserts a text into a file, at the place of the section.
func paste(file, text string, at *config.Section) string {
	if at == nil {
		return file + text
	}
	lines := strings.SplitAfter(file, "\n")
	before, line, after := strings.Join(lines[:at.Line-1], ""), lines[at.Line-1], strings.Join(lines[at.Line:], "")
	switch at.Place {
	case config.Below:
		return before + line + text + after
	case config.Instead:
		return before + text + after
	}
	brace := strings.Index(line, "{") + 1
	if begins := strings.Index(line, "mcpServers"); begins > 0 {
		brace = begins + strings.Index(line[begins:], "{") + 1
	}
	return before + line[:brace] + text + line[brace:] + after
}

// The text, pasted at the place of the section, adds the servers to those of the file, in every
// layout.
func TestHostFile_TextFor(t *testing.T) {
	const pasted = `{"mcpServers": {
		"files": {"command": "npx", "args": ["-y", "server: a # b", "/home/me"], "env": {"FILES_TOKEN": "s3cret-s3cret-1"}},
		"far": {"url": "https://mcp.example.org/mcp", "trust": true}}}`
	tests := []struct {
		name, file string
		place      config.Place
		line       int
		want       []string // the servers of the file afterwards
	}{
		{"an empty file", "", "", 0, []string{"files", "far"}},
		{"another key", "listen: 127.0.0.1:1\n", "", 0, []string{"files", "far"}},
		{"a section", "# mine\nmcpServers:\n  old: {command: a}\nlisten: 127.0.0.1:1\n", config.Below, 2, []string{"files", "far", "old"}},
		{"a section with the same name", "mcpServers:\n  files: {command: a}\n", config.Below, 1, []string{"files-2", "far", "files"}},
		{"a deep section", "mcpServers: # all of them\n      # the first\n      old:\n        command: a\n", config.Below, 1, []string{"files", "far", "old"}},
		{"a key without a value", "listen: 127.0.0.1:1\nmcpServers:\n  # old: {command: a}\ndefault: dental\n", config.Below, 2, []string{"files", "far"}},
		{"an anchor", "mcpServers: &all\n  old: {command: a}\n", config.Below, 1, []string{"files", "far", "old"}},
		{"null", "mcpServers: null # none\nlisten: 127.0.0.1:1\n", config.Instead, 1, []string{"files", "far"}},
		{"no servers", "mcpServers: {}\n", config.Instead, 1, []string{"files", "far"}},
		{"braces", "mcpServers: {old: {command: a}}\n", config.Inside, 1, []string{"files", "far", "old"}},
		{"empty braces over lines", "mcpServers: {\n}\n", config.Inside, 1, []string{"files", "far"}},
		{"braces over lines", "listen: 127.0.0.1:1\nmcpServers: {\n  old: {command: a},\n}\n", config.Inside, 2, []string{"files", "far", "old"}},
		{"a JSON file", `{"listen": "127.0.0.1:1", "mcpServers": {"old": {"command": "a"}}}` + "\n", config.Inside, 1, []string{"files", "far", "old"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var at *config.Section
			var taken []string
			if s, ok := config.FindSection([]byte(tt.file), "mcpServers"); ok {
				at, taken = &s, s.Names
				if s.Place != tt.place || s.Line != tt.line {
					t.Errorf("%s line %d, want %s line %d", s.Place, s.Line, tt.place, tt.line)
				}
			} else if tt.line != 0 {
				t.Fatal("no section is found")
			}
			f, err := config.ReadHostFile("the text", []byte(pasted), taken...)
			if err != nil {
				t.Fatal(err)
			}
			text, err := f.TextFor(at)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text, "s3cret") || strings.Contains(text, "the text") {
				t.Errorf("the text is\n%s", text)
			}
			whole := paste(tt.file, text, at)
			path := filepath.Join(t.TempDir(), "molar.yaml")
			if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := config.Load(config.Options{Path: path, Explicit: true, Env: func(name string) (string, bool) {
				return map[string]string{"HOME": "/home/me", "USERPROFILE": "/home/me", "FILES_TOKEN": "1"}[name], true
			}})
			if err != nil {
				t.Fatalf("%v\n%s", err, whole)
			}
			if diff := cmp.Diff(tt.want, cfg.MCPServers.Names()); diff != "" {
				t.Errorf("servers (-want +got):\n%s\n%s", diff, whole)
			}
			files, _ := cfg.MCPServers.Get(tt.want[0])
			if diff := cmp.Diff([]string{"-y", "server: a # b", "/home/me"}, files.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s\n%s", diff, whole)
			}
		})
	}
}

// Invalid files, and values to which no entry can be added, have no section.
func TestFindSection_None(t *testing.T) {
	for _, file := range []string{"", "# only\n", "- a\n", "mcpServers: [\n", "mcpServers: none\n", "a: {mcpServers: {}}\n", "\xff\xfe"} {
		if s, ok := config.FindSection([]byte(file), "mcpServers"); ok {
			t.Errorf("%q: %+v", file, s)
		}
	}
}
