// Package npm describes the third-party MCP servers that tests attach, as package.json in this
// folder pins them and .ci/npm installs them. None of them needs a valid key, a network or a
// browser to list its tools.
package npm

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"molar/mcpclients/transport"
)

// Installed returns the path of a file that .ci/npm installed, below .cache at the root of the
// module. If it is missing, the test is skipped, except in CI, where it fails.
func Installed(t testing.TB, name ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: servers of others are left out")
	}
	path := filepath.Join(append([]string{root(t), ".cache"}, name...)...)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing: run .ci/npm", path)
		}
		t.Skipf("%s is missing: run .ci/npm to test against servers of others", path)
	}
	return path
}

// root returns the folder of go.mod, above the folder of the running test.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			t.Fatal("the test does not run inside the module")
		}
		dir = above
	}
}

// A Server is a third-party MCP server over stdio.
type Server struct {
	Config transport.ServerConfig
	// Tools is the least number of its tools.
	Tools int
}

// Servers returns all servers that use stdio. They write their files below dir, the only folder
// to which the file server gives access.
func Servers(t testing.TB, dir string) []Server {
	t.Helper()
	modules := Installed(t, "npm", "node_modules")
	var all []Server
	for _, s := range listed(dir) {
		env := map[string]string{"HOME": dir}
		maps.Copy(env, s.env)
		all = append(all, Server{Tools: s.tools, Config: transport.ServerConfig{
			Name: s.name, Command: "node", Args: append([]string{filepath.Join(modules, filepath.FromSlash(s.script))}, s.args...), Env: env, Dir: dir,
		}})
	}
	return all
}

// script is a script for node. The keys in its environment are well-formed, but not valid.
type script struct {
	name, script string
	tools        int
	args         []string
	env          map[string]string
}

func listed(dir string) []script {
	const official = "@modelcontextprotocol/server-"
	return []script{
		{"everything", official + "everything/dist/index.js", 12, []string{"stdio"}, nil},
		{"filesystem", official + "filesystem/dist/index.js", 14, []string{dir}, nil},
		{"memory", official + "memory/dist/index.js", 9, nil, map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}},
		{"thinking", official + "sequential-thinking/dist/index.js", 1, nil, nil},
		{"github", official + "github/dist/index.js", 26, nil, map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "none"}},
		{"gitlab", official + "gitlab/dist/index.js", 9, nil, map[string]string{"GITLAB_PERSONAL_ACCESS_TOKEN": "none"}},
		{"slack", official + "slack/dist/index.js", 8, nil, map[string]string{"SLACK_BOT_TOKEN": "none", "SLACK_TEAM_ID": "none"}},
		{"google-maps", official + "google-maps/dist/index.js", 7, nil, map[string]string{"GOOGLE_MAPS_API_KEY": "none"}},
		{"playwright", "@playwright/mcp/cli.js", 20, nil, nil},
		{
			"chrome-devtools", "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js", 25,
			[]string{"--no-usage-statistics", "--no-performance-crux"},
			map[string]string{"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS": "1"},
		},
		{"notion", "@notionhq/notion-mcp-server/bin/cli.mjs", 20, nil, map[string]string{"NOTION_TOKEN": "none"}},
		{"tavily", "tavily-mcp/build/index.js", 5, nil, map[string]string{"TAVILY_API_KEY": "none"}},
		{"git", "@cyanheads/git-mcp-server/dist/index.js", 25, nil, map[string]string{"OTEL_ENABLED": "false"}},
		{"airtable", "airtable-mcp-server/dist/main.js", 15, nil, map[string]string{"AIRTABLE_API_KEY": "pat.none"}},
		{"hubspot", "@hubspot/mcp-server/dist/index.js", 20, nil, map[string]string{"PRIVATE_APP_ACCESS_TOKEN": "none"}},
	}
}
