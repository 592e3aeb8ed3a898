package config_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
	"molar/internal/testkit"
	"molar/schemas"
)

// hostfileLoad loads the YAML as molar.yaml, with every variable set.
func hostfileLoad(t testing.TB, f *config.HostFile) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "molar.yaml")
	if err := os.WriteFile(path, f.YAML, 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": "/home/me", "USERPROFILE": "/home/me"}
	for _, v := range f.Variables {
		env[v.Name] = "1"
		if v.Address {
			env[v.Name] = "https://example.com"
		}
	}
	cfg, err := config.Load(config.Options{Path: path, Explicit: true, Env: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}})
	if err != nil {
		t.Fatalf("the converted file is invalid: %v\n%s", err, f.YAML)
	}
	return cfg
}

// The file of every host is converted to a valid config file without secrets.
func TestReadHostFile(t *testing.T) {
	tests := []struct {
		file    string
		host    config.Host
		leftOut []string
	}{
		{"claude_desktop_config.json", config.HostClaude, []string{"broken"}},
		{"vscode.json", config.HostVSCode, []string{"socket"}},
		{"cursor.json", config.HostCursor, nil},
		{"gemini.json", config.HostGemini, nil},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			f, err := config.ReadHostFile(tt.file, data)
			if err != nil {
				t.Fatal(err)
			}
			if f.Host != tt.host || !slices.Equal(f.LeftOut, tt.leftOut) {
				t.Errorf("host %q, left out %q", f.Host, f.LeftOut)
			}
			testkit.Same(t, filepath.Join("testdata", strings.TrimSuffix(tt.file, ".json")+".yaml"), string(f.YAML))
			if bytes.Contains(bytes.ToLower(f.YAML), []byte("canary-")) && tt.file != "vscode.json" {
				t.Error("a secret is shown")
			}
			if diff := cmp.Diff(f.Servers, hostfileLoad(t, f).MCPServers.Names()); diff != "" {
				t.Errorf("servers (-reported +in the YAML):\n%s", diff)
			}
		})
	}
}

func readHostFile(t *testing.T, name, text string) *config.HostFile {
	t.Helper()
	f, err := config.ReadHostFile(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	hostfileLoad(t, f)
	return f
}

// The errors for invalid files do not quote them.
func TestReadHostFile_Invalid(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "not valid JSON"},
		{"no JSON", "{\n\"a\": 1\n canary", "line 3: it is not valid JSON"},
		{"a list", "[]", "want a JSON object"},
		{"another file", `{"name": "x"}`, `neither "mcpServers" nor "servers"`},
		{"servers that are a list", `{"mcpServers": []}`, "mcpServers: want an object"},
		{"a key twice", `{"mcpServers": {}, "mcpServers": {}}`, `"mcpServers" occurs twice`},
		{"an open comment", `{"mcpServers": {} /* }`, "not valid JSON"},
		{"more than one document", `{"mcpServers": {}} {}`, "not valid JSON"},
		{"too much", `{"mcpServers": {}}` + strings.Repeat(" ", 16<<20), "larger than"},
		{"no TOML", "[mcp_servers.a]\ncommand = canary", "not valid TOML"},
		{"no YAML", "extensions:\n  a: [canary", "not valid YAML"},
		{"deep YAML", "extensions:\n" + strings.Repeat("- ", 1<<18), "nested too deep"},
		{"deep braces", "extensions: " + strings.Repeat("{a: ", 1<<18), "nested too deep"},
		{"deep TOML", "[mcp_servers.a]\nx = " + strings.Repeat("[", 1<<18), "nested too deep"},
		{"aliases", "extensions:\n  a: &a {type: stdio}\n  b: *a\n", "not valid YAML"},
		{"extensions of something else", "extensions:\n  a: b\n", `neither "mcpServers" nor "servers"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.ReadHostFile("x.json", []byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// Names of servers are converted to valid and unique ones.
func TestReadHostFile_Names(t *testing.T) {
	x := `{"command": "x"}`
	f := readHostFile(t, "x.json", `{"mcpServers": {"a b": `+x+`, "a-b": `+x+`, "": `+x+`, "tool-server": `+x+`, "đọc ghi": `+x+`,
		"`+strings.Repeat("n", 40)+`": `+x+`, "`+strings.Repeat("n", 41)+`": `+x+`}}`)
	want := []string{"a-b", "a-b-2", "server", "tool-server-2", "c-ghi", strings.Repeat("n", 32), strings.Repeat("n", 30) + "-2"}
	if diff := cmp.Diff(want, f.Servers); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// No part of the file can end a comment or a string of the YAML.
func TestReadHostFile_Injection(t *testing.T) {
	f := readHostFile(t, "x.json", `{"mcpServers": {
		"a\nlisten: 0.0.0.0:1": {"command": "x", "k\n    command: evil": 1, "type": "t\r\n  evil: {}", "envFile": "e\u2028x"},
		"b": {"command": "x\"\n    cwd: /", "args": ["$HOME ${", "#", "- x", "\u0085", "😀\t", "*a", "$5"], "env": {"A\nB": "1\n2"}}
	}}`)
	cfg := hostfileLoad(t, f)
	a, _ := cfg.MCPServers.Get("a-listen-0-0-0-0-1")
	b, _ := cfg.MCPServers.Get("b")
	if len(cfg.MCPServers) != 2 || cfg.Listen != "127.0.0.1:8000" || a.Command != "x" || a.Cwd != "" || b.Cwd != "" {
		t.Errorf("%d servers\n%s", len(cfg.MCPServers), f.YAML)
	}
	if diff := cmp.Diff([]string{"$HOME ${", "#", "- x", "\u0085", "😀\t", "*a", "$5"}, b.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

// The host is recognised by the folder and the keys: url means another transport in Gemini CLI than
// in the other hosts.
func TestReadHostFile_Host(t *testing.T) {
	const remote = `{"mcpServers": {"a": {"url": "https://example.com/x"}}}`
	tests := []struct {
		name, text string
		host       config.Host
		kind       string
	}{
		{"mcp.json", remote, config.HostUnknown, ""},
		{"claude_desktop_config.json", remote, config.HostClaude, ""},
		{".mcp.json", remote, config.HostClaudeCode, ""},
		{".cursor/mcp.json", remote, config.HostCursor, ""},
		{"mcp.json", `{"mcpServers": {"a": {"url": "https://example.com/x", "auth": {"CLIENT_ID": "x"}}}}`, config.HostCursor, ""},
		{".cursor/mcp.json", `{"mcpServers": {"a": {"command": "x"}}}`, config.HostCursor, ""},
		{"/home/me/.gemini/settings.json", remote, config.HostGemini, "sse"},
		{".vscode/mcp.json", `{"servers": {"a": {"url": "https://example.com/x"}}}`, config.HostVSCode, ""},
		{"settings.json", `{"editor.tabSize": 2, "mcp": {"servers": {"a": {"url": "https://example.com/x", "type": "sse"}}}}`, config.HostVSCode, "sse"},
		{"settings.json", `{"mcp": {"allowed": ["a"]}, ` + remote[1:], config.HostGemini, "sse"},
	}
	for _, tt := range tests {
		f := readHostFile(t, tt.name, tt.text)
		server, _ := hostfileLoad(t, f).MCPServers.Get("a")
		if f.Host != tt.host || server.Type != tt.kind || server.Disabled {
			t.Errorf("%s: host %q, type %q\n%s", tt.name, f.Host, server.Type, f.YAML)
		}
	}
}

// The servers of hosts that write them in another form are converted as well.
func TestReadHostFile_Forms(t *testing.T) {
	tests := []struct {
		name, file, text string
		host             config.Host
		leftOut          []string
		want             string // below mcpServers
	}{
		{
			"Codex", "config.toml", `model = "x"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-mcp"]
env_vars = ["DOCS_HOME"]
startup_timeout_sec = 20
tool_timeout_sec = 1.5
enabled_tools = ["search"]
[mcp_servers.docs.env]
DOCS_TOKEN = "canary 1"
[mcp_servers.far]
url = "https://example.com/mcp"
bearer_token_env_var = "FAR_TOKEN"
enabled = false
http_headers = { "X-Tenant" = "acme" }
env_http_headers = { "X-Key" = "FAR_KEY" }
`, config.HostCodex, nil, `  docs:
    args: ["-y", docs-mcp]
    command: npx
    includeTools: [search]
    start_timeout: "20s"
    timeout: "1.5s"
    env:
      DOCS_TOKEN: "${DOCS_TOKEN}"
      DOCS_HOME: "${DOCS_HOME}"
  far:
    url: "https://example.com/mcp"
    disabled: true
    headers:
      X-Tenant: acme
      Authorization: "Bearer ${FAR_TOKEN}"
      X-Key: "${FAR_KEY}"
`,
		},
		{
			"goose", "config.yaml", `GOOSE_MODEL: x
extensions:
  developer: {enabled: true, type: builtin, name: developer, bundled: true}
  notes:
    name: Notes
    description: my notes
    enabled: true
    type: stdio
    cmd: uvx
    args: [notes-mcp]
    envs: {LEVEL: debug}
    env_keys: [NOTES_TOKEN]
    timeout: 300
    available_tools: []
  far: {type: streamable_http, uri: "https://example.com/mcp", headers: {X-Tenant: acme}, enabled: false}
`, config.HostGoose, []string{"developer"}, `  # developer is left out: want either command or url
  #   "part of goose itself": has no counterpart in molar.yaml
  notes:
    command: uvx
    args: [notes-mcp]
    timeout: "5m0s"
    env:
      LEVEL: debug
      NOTES_TOKEN: "${NOTES_TOKEN}"
  far:
    url: "https://example.com/mcp"
    headers:
      X-Tenant: acme
    disabled: true
`,
		},
		{
			"opencode", "opencode.json", `{"$schema": "https://example.com/config.json", "mcp": {
				"docs": {"type": "local", "command": ["bun", "x", "docs-mcp"], "environment": {"DOCS_TOKEN": "{env:MY_TOKEN}"}, "enabled": true, "timeout": 5000},
				"far": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"clientId": "molar", "clientSecret": "canary 1", "scope": "read write"}}, // mine
			}}`, config.HostOpenCode, nil, `  docs:
    env:
      DOCS_TOKEN: "${MY_TOKEN}"
    timeout: "5s"
    command: bun
    args: [x, docs-mcp]
  # oauth: log in with: molar servers login far
  far:
    url: "https://example.com/mcp"
    oauth:
      client_id: molar
      client_secret: "${FAR_CLIENT_SECRET}"
      scopes: [read, write]
`,
		},
		{
			"Zed", "settings.json", `{"theme": "x", "context_servers": {
				"docs": {"source": "custom", "command": "npx", "args": ["docs-mcp"], "env": {}},
				"old": {"command": {"path": "uvx", "args": ["old-mcp"], "env": {"LEVEL": "debug"}}},
				"extension": {"source": "extension", "settings": {}}}}`, config.HostZed, []string{"extension"}, `  docs:
    command: npx
    args: [docs-mcp]
  old:
    command: uvx
    args: [old-mcp]
    env:
      LEVEL: debug
  # extension is left out: want either command or url
  #   settings: has no counterpart in molar.yaml
`,
		},
		{
			"Claude Code", "/home/me/.claude.json", `{"numStartups": 3, "mcpServers": {"docs": {"type": "stdio", "command": "npx", "args": ["docs-mcp"], "env": {}}},
				"projects": {"/home/an/a": {"history": [], "mcpServers": {}}, "/home/an/b": {
					"mcpServers": {"docs": {"type": "http", "url": "https://example.com/mcp", "oauth": {"clientId": "molar", "callbackPort": 8123}}, "off": {"command": "x"}},
					"disabledMcpServers": ["off"]}}}`, config.HostClaudeCode, nil, `  docs:
    command: npx
    args: [docs-mcp]
  # original name: docs
  # oauth.callbackPort: the browser comes back to http://127.0.0.1:8123/callback, which the client must allow
  # oauth: log in with: molar servers login docs-2
  # of the project /home/an/b
  docs-2:
    url: "https://example.com/mcp"
    oauth:
      client_id: molar
      redirect_port: 8123
  # of the project /home/an/b
  # the project switched it off
  "off":
    command: x
    disabled: true
`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := readHostFile(t, tt.file, tt.text)
			if f.Host != tt.host {
				t.Errorf("host %q", f.Host)
			}
			if diff := cmp.Diff(tt.leftOut, f.LeftOut); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
			_, got, _ := strings.Cut(string(f.YAML), "mcpServers:\n")
			if diff := cmp.Diff(tt.want, got); diff != "" || strings.Contains(string(f.YAML), "canary") {
				t.Errorf("(-want +got):\n%s", diff)
			}
			named, err := config.ReadHostFile("the text", []byte(tt.text))
			if err != nil || tt.host != config.HostClaudeCode && named.Host != tt.host {
				t.Errorf("without its path: %+v, %v", named, err)
			}
		})
	}
}

// Values that look secret become variables wherever they are, and other values do not.
func TestReadHostFile_Secrets(t *testing.T) {
	secret := []string{
		`"command": "x", "args": ["--password", "a:canary=1"]`,
		`"command": "x", "args": ["--db", "postgres://me:canary@db/x"]`,
		`"command": "sh", "args": ["-c", "API_TOKEN=canary exec x"]`,
		`"command": "x", "args": ["--header=X-Api-Key: canary"]`,
		`"command": "x", "env": {"SOMETHING": "canary 1"}`,
		`"command": "x", "env": {"PASSWORD": "canary"}`,
		`"url": "https://example.com/mcp?token=canary&x=1"`,
		`"url": "https://example.com/canary0123456789abcdef/mcp"`,
		`"url": "https://example.com/mcp", "headers": {"Authorization": "Basic canary"}`,
		`"url": "https://example.com/mcp", "headers": {"X-Odd": "canary!"}`,
	}
	for _, text := range secret {
		f := readHostFile(t, "x.json", `{"mcpServers": {"a": {`+text+`}}}`)
		if strings.Contains(string(f.YAML), "canary") || len(f.Variables) != 1 || len(f.Servers) != 1 {
			t.Errorf("%s became\n%s", text, f.YAML)
		}
	}
	open := []string{
		`"command": "npx", "args": ["-y", "npm-check-updates", "@modelcontextprotocol/server-everything@2026.1.14", "--key-file", "/etc/key.pem"]`,
		`"command": "x", "env": {"NODE_ENV": "production", "LANG": "vi_VN.UTF-8", "CACHE": "~/cache", "API": "https://example.com/v1", "N": 5, "ON": true}`,
		`"url": "https://example.com/mcp?profile=dev", "headers": {"X-Tenant": "acme"}`,
	}
	for _, text := range open {
		if f := readHostFile(t, "x.json", `{"mcpServers": {"a": {`+text+`}}}`); len(f.Variables) != 0 {
			t.Errorf("%s became\n%s", text, f.YAML)
		}
	}
}

// Two servers with the same secret share its variable. Different secrets with the same name get
// different variables, and never one that the file refers to.
func TestReadHostFile_Variables(t *testing.T) {
	f := readHostFile(t, "x.json", `{"mcpServers": {
		"a": {"command": "x", "env": {"TOKEN": "one"}},
		"b": {"command": "x", "env": {"TOKEN": "one"}},
		"c": {"command": "x", "env": {"TOKEN": "two", "MOLAR_LISTEN": "0.0.0.0:1 x", "KEY": "three"}},
		"d": {"command": "x", "env": {"X": "${env:KEY}", "TOKEN": "three"}}
	}}`)
	var names []string
	for _, v := range f.Variables {
		names = append(names, v.Name)
	}
	if diff := cmp.Diff([]string{"TOKEN", "C_TOKEN", "C_MOLAR_LISTEN", "C_KEY", "KEY", "D_TOKEN"}, names); diff != "" {
		t.Errorf("variables (-want +got):\n%s\n%s", diff, f.YAML)
	}
}

// The values of the variables are returned separately from the YAML, except of those that the file
// itself refers to.
func TestReadHostFile_Values(t *testing.T) {
	f := readHostFile(t, "x.json", `{"mcpServers": {"a": {"command": "x", "args": ["--token=canary-1"], "env": {"KEY": "canary 2", "REF": "${env:MINE}"}}}}`)
	got := map[string]string{}
	for _, v := range f.Variables {
		got[v.Name] = v.Value.Reveal()
	}
	if diff := cmp.Diff(map[string]string{"A_TOKEN": "canary-1", "KEY": "canary 2", "MINE": ""}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if shown := fmt.Sprintf("%v %+v", f.Variables, f.Variables); strings.Contains(shown, "canary") {
		t.Errorf("a secret is shown: %s", shown)
	}
}

// Files share a variable only if it has the same value in both and in the environment.
func TestMerge(t *testing.T) {
	claude := readHostFile(t, "claude_desktop_config.json", `{"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "1 one"}}, "b": {"command": "x", "env": {"API_KEY": "1 key", "TAKEN": "1 mine"}}}}`)
	cursor := readHostFile(t, ".cursor/mcp.json", `{"mcpServers": {
		"a": {"command": "x", "env": {"TOKEN": "1 one"}},
		"b": {"command": "x", "env": {"API_KEY": "2 key"}},
		"c": {"command": "x", "env": {"TOKEN": "2 two", "API_KEY": "1 key"}},
		"d": {"command": "x", "env": {"X": "${SHARED:-none}"}}
	}}`)
	gemini := readHostFile(t, ".gemini/settings.json", `{"mcpServers": {"e": {"command": "x", "env": {"TOKEN": "2 two", "SHARED": "3 three"}}}}`)
	again := readHostFile(t, "again/.cursor/mcp.json", `{"mcpServers": {"c": {"command": "x", "env": {"TOKEN": "2 two", "API_KEY": "1 key"}}}}`)
	m := config.Merge([]*config.HostFile{claude, cursor, gemini, again}, func(name string, value schemas.Secret) bool {
		return name == "TAKEN" && value != "another"
	})
	const want = `  # From Claude Desktop:
  a:
    command: x
    env:
      TOKEN: "${TOKEN}"
  b:
    command: x
    env:
      API_KEY: "${API_KEY}"
      TAKEN: "${CLAUDE_DESKTOP_TAKEN}"
  # From Cursor:
  c:
    command: x
    env:
      TOKEN: "${C_TOKEN}"
      API_KEY: "${C_API_KEY}"
  d:
    command: x
    env:
      X: "${SHARED:-none}"
  # From Gemini CLI:
  e:
    command: x
    env:
      TOKEN: "${GEMINI_CLI_TOKEN}"
      SHARED: "${GEMINI_CLI_SHARED}"
`
	if diff := cmp.Diff(want, m.Text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	values := map[string]string{}
	for _, v := range m.Variables {
		values[v.Name] = v.Value.Reveal()
	}
	if diff := cmp.Diff(map[string]string{
		"TOKEN": "1 one", "API_KEY": "1 key", "CLAUDE_DESKTOP_TAKEN": "1 mine", "C_TOKEN": "2 two", "C_API_KEY": "1 key", "GEMINI_CLI_TOKEN": "2 two", "GEMINI_CLI_SHARED": "3 three",
	}, values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b"}, m.Duplicates); diff != "" {
		t.Errorf("duplicates (-want +got):\n%s", diff)
	}
}

func FuzzReadHostFile(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range []string{
		`{"mcpServers":{"a":{"command":"x","env":{"<<":"y","":"z","k":"\u0000\ufeff"}}}}`,
		`{"servers":{"\u0000":{"url":"${input:x}${","headers":{"a":"Bearer "}}},"inputs":[{"id":5},null,"x"]}`,
		`{"mcpServers":{"a":{"args":["$$","${A:-","${A:-${B}}","$"],"command":"${/}","timeout":1e300}}}`,
		"[mcp_servers.a]\ncommand = \"x\"\nargs = [1, \"$\"]\ntool_timeout_sec = 1e300\nenv_vars = [\"A-B\"]\n[mcp_servers.b]\nurl = \"https://x\"\nbearer_token_env_var = \"}\"\n",
		"extensions:\n  a: {type: stdio, cmd: x, envs: {A: 1}, env_keys: [\"${\", B]}\n  b:\n    type: sse\n    uri: x\n",
		`{"mcp":{"a":{"type":"local","command":["x","{env:A}"],"oauth":false}},"context_servers":{"b":{"command":{"path":"y"}}}}`,
		`{"projects":{"a":{"mcpServers":{"x":{"url":"https://x","oauth":{"redirectUri":":","scope":" a\n"}}}},"b":1}}`,
		"\xef\xbb\xbf{\"mcpServers\":{\"~\":null,\"1\":{\"command\":\"- \\n #\",\"includeTools\":[\"\\\\[\"]}}}//",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := config.ReadHostFile("mcp.json", data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		if diff := cmp.Diff(slices.Clone(file.Servers), append([]string(nil), hostfileLoad(t, file).MCPServers.Names()...)); diff != "" && len(file.Servers) > 0 {
			t.Errorf("servers (-reported +in the YAML):\n%s\n%s", diff, file.YAML)
		}
	})
}
