package config_test

import (
	"testing"

	"molar/internal/config"
)

// A server is called after what its command runs, as far as that tells.
func TestNameOfCommand(t *testing.T) {
	for command, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem /home/me/mcp": "filesystem",
		"npx @playwright/mcp@latest --headless":                       "playwright",
		"npx -y @upstash/context7-mcp":                                "context7",
		"npx -y tavily-mcp@0.1.2":                                     "tavily",
		"uvx mcp-server-git --repository x":                           "git",
		"docker run -i --rm -e GITHUB_MCP_TOKEN mcp/fetch":            "fetch",
		"python -m mcp_server_time":                                   "time",
		"go run ./examples/family/server":                             "family",
		"node /opt/weather/build/index.js":                            "index",
		"/opt/bin/clock-server":                                       "clock",
		"npx mcp":                                                     "server",
	} {
		words, err := config.SplitWords(command)
		if err != nil {
			t.Fatal(err)
		}
		if got := config.NameOfCommand(words); got != want {
			t.Errorf("%s: called %q, want %q", command, got, want)
		}
	}
}
