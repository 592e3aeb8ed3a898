package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/web"
)

// importer is a port with a config file of this text; "-" stands for none.
func importer(t *testing.T, text string) *port {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "molar.yaml")
	if text != "-" {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"npx", "uvx", "docker", "node"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	running := &config.Config{File: file}
	env := func(name string) (string, bool) { return map[string]string{"HOME": "/home/ann"}[name], name == "HOME" }
	return &port{Host: &host.Host{Config: running}, cli: &cli.CLI{Env: env}, files: &reloader{running: running}}
}

// What people paste becomes text for the config file, without its secrets; what is neither
// servers, nor a command, nor an address is refused in words.
func TestImportServers(t *testing.T) {
	const command = "    command: npx\n"
	for _, tt := range []struct {
		name, pasted, file string
		want               web.Imported
	}{
		{
			"a block", `{"mcpServers": {"notes": {"command": "npx", "env": {"NOTES_TOKEN": "sk-very-secret-123456"}}}}`, "-",
			web.Imported{
				Place: "new", Servers: []string{"notes"}, Variables: []string{"NOTES_TOKEN"},
				YAML: "# Put the values of these variables into molar.env next to molar.yaml, or into the environment:\n#   NOTES_TOKEN: env NOTES_TOKEN of notes\n" +
					"mcpServers:\n  notes:\n" + command + "    env:\n      NOTES_TOKEN: \"${NOTES_TOKEN}\"\n",
			},
		},
		{
			"a block of Codex", "# mine\n[mcp_servers.notes]\ncommand = \"npx\"\n", "mcpServers: {}\n",
			web.Imported{Host: "Codex", Place: "instead", Line: 1, Servers: []string{"notes"}, YAML: "mcpServers:\n  notes:\n" + command},
		},
		{
			"an address", " https://mcp.example.com/v1 ", "listen: 127.0.0.1:1\n",
			web.Imported{Place: "end", Servers: []string{"mcp-example-com"}, YAML: "mcpServers:\n  mcp-example-com:\n    url: \"https://mcp.example.com/v1\"\n"},
		},
		{
			"a command", "npx -y @modelcontextprotocol/server-filesystem ~/notes", "mcpServers:\n    old: {command: x}\n",
			web.Imported{
				Place: "below", Line: 1, Servers: []string{"filesystem"},
				YAML: "    filesystem:\n      command: npx\n      args: [\"-y\", \"@modelcontextprotocol/server-filesystem\", /home/ann/notes]\n",
			},
		},
		{
			"a name that is taken", "npx server-old", "# mine\nmcpServers: # all\n  old: {command: x}\n",
			web.Imported{Place: "below", Line: 2, Servers: []string{"old-2"}, YAML: "  old-2:\n" + command + "    args: [server-old]\n"},
		},
		{
			"a command with a prompt, variables and several lines", "$ NOTES_KEY=sk-very-secret-123456 LEVEL=debug docker run -i --rm \\\n  -e MCP_TOKEN=$OTHER 'ghcr.io/ann/github-mcp-server:1.2'", "mcpServers: {}\n",
			web.Imported{
				Place: "instead", Line: 1, Servers: []string{"github"}, Variables: []string{"OTHER", "NOTES_KEY"},
				YAML: "# Put the values of these variables into molar.env next to molar.yaml, or into the environment:\n#   OTHER: the file refers to it\n#   NOTES_KEY: env NOTES_KEY of github\n" +
					"mcpServers:\n  github:\n    command: docker\n    args: [run, \"-i\", \"--rm\", \"-e\", \"MCP_TOKEN=${OTHER}\", \"ghcr.io/ann/github-mcp-server:1.2\"]\n" +
					"    env:\n      LEVEL: debug\n      NOTES_KEY: \"${NOTES_KEY}\"\n",
			},
		},
		{
			"braces", "uvx mcp-server-time", "mcpServers: {old: {command: x}}\n",
			web.Imported{Place: "inside", Line: 1, Servers: []string{"time"}, YAML: `"time": {"command": "uvx", "args": ["mcp-server-time"]}, `},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := importer(t, tt.file)
			imported, err := p.importServers(tt.pasted)
			if err != nil || strings.Contains(imported.YAML, "very-secret") {
				t.Fatalf("%+v, %v", imported, err)
			}
			if tt.want.File = p.Config.File; len(tt.want.Variables) > 0 {
				tt.want.VariablesFile = config.VariablesFile(p.Config.File)
			}
			if diff := cmp.Diff(tt.want, imported); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	p := importer(t, "-")
	for bad, want := range map[string]string{
		"": "nothing was pasted", "hello": `no program "hello"`, "how do I do this": `no program "how"`, `{"a": 1}`: "neither the JSON", "{": "line 1",
		"ftp://example.com": "begins with http", "localhost:8931/mcp": "begins with http", "npx a\nnpx b": "several lines", "npx 'a": "not closed",
	} {
		if _, err := p.importServers(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", bad, err, want)
		}
	}
}
