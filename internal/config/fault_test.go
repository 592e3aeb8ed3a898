package config_test

import (
	"strings"
	"testing"

	"molar/internal/config"
)

func TestLoad_Faults(t *testing.T) {
	tests := []struct {
		name string
		file string
		want []string // one for each fault, after the path of the file
	}{
		{
			"an unknown key at the top", "listen: 127.0.0.1:1\nassistant: {}\n",
			[]string{`:2: assistant: unknown key "assistant", did you mean "assistants"?`},
		},
		{
			"an unknown key below", "llm:\n  ollama:\n    base_ulr: x\n",
			[]string{`:3: llm.ollama.base_ulr: unknown key "base_ulr", did you mean "base_url"?`},
		},
		{"an unknown key without a suggestion", "zzzzzzzz: 1\n", []string{`:1: zzzzzzzz: unknown key "zzzzzzzz"`}},
		{
			"a misspelled key hides what it causes", "mcpServers:\n  a:\n    comand: x\n",
			[]string{`:3: mcpServers.a.comand: unknown key "comand", did you mean "command"?`},
		},
		{"a string for a number", "limits:\n  rounds: many\n", []string{":2: limits.rounds: want a whole number, got a string"}},
		{"a number for a string", "listen: 8000\n", []string{":1: listen: want a string, got a number without quotes"}},
		{"a list for a string", "default:\n  - a\n", []string{":2: default: want a string, got a list"}},
		{"a string for a list", "assistants:\n  a:\n    tools: all\n", []string{":3: assistants.a.tools: want a list ([a, b]), got a string"}},
		{"a scalar for a mapping", "llm: ollama\n", []string{":1: llm: want a mapping (key: value), got a string"}},
		{"a list at the top", "- a\n", []string{":1: want a mapping (key: value), got a list"}},
		{"a number in a list of strings", "mcpServers:\n  a:\n    command: x\n    args: [-p, 80]\n", []string{":4: mcpServers.a.args[1]: want a string, got a number without quotes"}},
		{"a bad duration", "limits: {tool_time: 60}\n", []string{`:1: limits.tool_time: want a duration such as "60s" or "5m", got a number without quotes`}},
		{"a bad duration in a string", "limits: {tool_time: soon}\n", []string{`:1: limits.tool_time: want a duration such as "60s" or "5m"`}},
		{"a bad size", "limits: {body: 4 elephants}\n", []string{`:1: limits.body: want a size such as "4MiB"`}},
		{"a bad boolean", "mcpServers: {a: {command: x, disabled: yes}}\n", []string{":1: mcpServers.a.disabled: want true or false, got a string"}},
		{"a missing variable", "\nlisten: ${ADDRESS}\n", []string{":2: listen: environment variable ADDRESS is not set; put ADDRESS=… into "}},
		{"an open variable", "listen: ${ADDRESS\n", []string{":1: listen: ${ without }"}},
		{"no YAML", "a: [1\nb: {", []string{":2: not readable as YAML"}},
		{"a key twice", "listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n", []string{":2: not readable as YAML: mapping key"}},
		{"two documents", "listen: 127.0.0.1:1\n---\nlisten: 127.0.0.1:1\n", []string{": not readable as YAML: it holds more than one document"}},
		{"an alias without anchor", "llm: *x\n", []string{`:1: llm: alias "x" has no anchor above it`}},
		{"a merge key", "llm: {<<: {provider: auto}}\n", []string{":1: llm: merge keys (<<) are not read"}},
		{"a key in the file", "api_keys: [{name: a, key: mk_0123456789012345678901234567890123}]\n", []string{":1: api_keys[0].key: keys do not belong in this file"}},
		{"a short key", "api_keys: [{name: a, key: \"${NONE:-short}\"}]\n", []string{":1: api_keys[0].key: want a key of at least 32 characters"}},
		{"a key without either", "api_keys: [{name: a}]\n", []string{`:1: api_keys[0]: want either hash: "sha256:…" or key: ${NAME}`}},
		{"a key with a bad hash", "api_keys: [{name: a, hash: sha256:00}]\n", []string{`:1: api_keys[0].hash: want "sha256:" and 64 hexadecimal digits`}},
		{"a key twice by name", "api_keys: [{name: a, hash: \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"}, {name: a, hash: \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"}]\n", []string{`:1: api_keys[1].name: "a" is defined twice`}},
		{"a key with an unknown scope", "api_keys: [{name: a, hash: \"sha256:0000000000000000000000000000000000000000000000000000000000000000\", scopes: [chta]}]\n", []string{`:1: api_keys[0].scopes[0]: want chat, admin, metrics, review or host, did you mean "chat"?`}},
		{"a key without a name", "api_keys: [{name: '', hash: \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"}]\n", []string{":1: api_keys[0].name: want a name"}},
		{"half a certificate", "tls: {cert: a.pem}\n", []string{":1: tls: want both cert and key"}},
		{"a proxy by name", "trusted_proxies: [proxy.local]\n", []string{":1: trusted_proxies[0]: want an address or a range"}},
		{"no port", "listen: localhost\n", []string{":1: listen: want host:port"}},
		{"an unknown provider", "llm: {provider: [ollama, ofline]}\n", []string{`:1: llm.provider: want auto, gemini, openai, anthropic, ollama or offline, did you mean "offline"?`}},
		{"gemini without its key", "llm:\n  provider: gemini\n", []string{":2: llm.provider: gemini has no API key: set GEMINI_API_KEY"}},
		{"openai without its key", "llm: {provider: openai}\n", []string{":1: llm.provider: openai has no API key: set OPENAI_API_KEY, or llm.openai.base_url for a server without a key"}},
		{"an assistant without its key", "assistants: {a: {provider: gemini}}\n", []string{":1: assistants.a.provider: gemini has no API key: set GEMINI_API_KEY"}},
		{"an address without a scheme", "llm: {gemini: {base_url: 'gemini.example'}}\n", []string{":1: llm.gemini.base_url: want an address that starts with http"}},
		{"a model without a name", "llm: {openai: {model: ''}}\n", []string{":1: llm.openai.model: want a value"}},
		{"an unknown default", "default: dentl\n", []string{`:1: default: no assistant is called "dentl", did you mean "dental"?`}},
		{"an unknown topic", "assistants: {a: {topic: cars}}\n", []string{":1: assistants.a.topic: want dental, or leave it out for any subject"}},
		{"an unknown flow", "assistants:\n  a:\n    flow: twopass\n", []string{`:3: assistants.a.flow: want agentic or two-pass, did you mean "two-pass"?`}},
		{"direct_answer in another flow", "assistants: {a: {direct_answer: true}}\n", []string{":1: assistants.a.direct_answer: applies only with flow: two-pass"}},
		{"a body that is not valid JSON", "assistants:\n  a:\n    extra_body: {top_k: .nan}\n", []string{":3: assistants.a.extra_body: cannot be written as JSON"}},
		{"a body that is no object", "assistants:\n  a:\n    extra_body: [1]\n", []string{":3: assistants.a.extra_body: want"}},
		{"a bad glob", "assistants: {a: {tools: ['[']}}\n", []string{":1: assistants.a.tools[0]: want a glob"}},
		{"a search tool misspelled", "assistants: {a: {search: [duckduckgo_serch]}}\n", []string{`:1: assistants.a.search[0]: no search tool is called "duckduckgo_serch", did you mean "duckduckgo_search"?`}},
		{"no assistants", "assistants: {}\n", []string{":1: assistants: want at least one assistant", ""}},
		{"a reserved server", "mcpServers: {tool-server: {command: x}}\n", []string{`:1: mcpServers.tool-server: "tool-server" is the name of a bundled server`}},
		{"a server name with a space", "mcpServers: {a b: {command: x}}\n", []string{":1: mcpServers.a b: want a name of letters"}},
		{"neither command nor url", "mcpServers:\n  a: {}\n", []string{":2: mcpServers.a: want either command or url"}},
		{"both command and url", "mcpServers: {a: {command: x, url: 'http://x'}}\n", []string{":1: mcpServers.a: want either command or url, not both"}},
		{"a command line in command", "mcpServers: {a: {command: go run .}}\n", []string{":1: mcpServers.a.command: want the program alone"}},
		{"a user in the url", "mcpServers: {a: {url: 'http://u:p@x'}}\n", []string{":1: mcpServers.a.url: want an address without a user and password"}},
		{"headers for a command", "mcpServers: {a: {command: x, headers: {A: b}}}\n", []string{":1: mcpServers.a.headers: apply only with url"}},
		{"an invalid header", "mcpServers: {a: {url: 'http://x', headers: {A: \"b\\r\\nC: d\"}}}\n", []string{":1: mcpServers.a.headers.A: is not a valid HTTP header"}},
		{"a login for a command", "mcpServers: {a: {command: x, oauth: {client_id: b}}}\n", []string{":1: mcpServers.a.oauth: applies only with url"}},
		{"a login for plain messages", "mcpServers: {a: {url: 'http://x', type: message, oauth: {client_id: b}}}\n", []string{":1: mcpServers.a.oauth: applies only with the types http and sse"}},
		{"a login and an Authorization header", "mcpServers: {a: {url: 'http://x', headers: {authorization: b}, oauth: {client_id: b}}}\n", []string{":1: mcpServers.a.oauth: cannot be combined with the header Authorization"}},
		{"a secret without a client", "mcpServers: {a: {url: 'http://x', oauth: {client_secret: b}}}\n", []string{":1: mcpServers.a.oauth.client_secret: applies only with client_id"}},
		{"a login without a person, without a client", "mcpServers: {a: {url: 'http://x', oauth: {grant: client_credentials}}}\n", []string{":1: mcpServers.a.oauth.client_id: is needed"}},
		{"a login without a person, without credentials", "mcpServers: {a: {url: 'http://x', oauth: {grant: client_credentials, client_id: b}}}\n", []string{":1: mcpServers.a.oauth.grant: needs client_secret or private_key"}},
		{"an unknown grant", "mcpServers: {a: {url: 'http://x', oauth: {grant: client, client_id: b, client_secret: c}}}\n", []string{":1: mcpServers.a.oauth.grant: want client_credentials"}},
		{"a provider without a token", "mcpServers: {a: {url: 'http://x', oauth: {client_id: b, identity: {issuer: 'https://i'}}}}\n", []string{":1: mcpServers.a.oauth.identity: want either token or token_file"}},
		{"no port", "mcpServers: {a: {url: 'http://x', oauth: {redirect_port: 70000}}}\n", []string{":1: mcpServers.a.oauth.redirect_port: want a port"}},
		{"two scopes in one", "mcpServers: {a: {url: 'http://x', oauth: {scopes: [a, 'b c']}}}\n", []string{":1: mcpServers.a.oauth.scopes[1]: want one scope"}},
		{"a wrong transport", "mcpServers: {a: {command: x, type: http}}\n", []string{":1: mcpServers.a.type: want stdio with a command"}},
		{"a policy misspelled", "mcpServers: {a: {command: x, tools: {'*': {policy: never}}}}\n", []string{":1: mcpServers.a.tools.*.policy: want auto, allow, confirm or deny"}},
		{"a start timeout too long", "mcpServers: {a: {command: x, start_timeout: 31m}}\n", []string{":1: mcpServers.a.start_timeout: want a time above 0s, at most 30m"}},
		{"a timeout too long", "mcpServers: {a: {command: x, timeout: 31m}}\n", []string{":1: mcpServers.a.timeout: want a time above 0s, at most 30m"}},
		{"a limit of zero", "limits: {rounds: 0}\n", []string{":1: limits.rounds: want 1 or more"}},
		{"a log level", "telemetry: {log_level: loud}\n", []string{":1: telemetry.log_level: want debug, info, warn or error"}},
		{"a wildcard host", "allowed_hosts: ['*']\n", []string{":1: allowed_hosts[0]: want a host name"}},
		{"all of them at once", "lisen: x\nlimits: {rounds: x, calls: 0}\ndefault: x\n", []string{":1: lisen", ":2: limits.rounds", ":3: default", ":2: limits.calls"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			name := write(t, tt.file)
			_, err := config.Load(config.Options{Path: name, Explicit: true, Env: environ(t)})
			if err == nil {
				t.Fatal("no error")
			}
			lines := strings.Split(err.Error(), "\n")
			if tt.want[len(tt.want)-1] == "" {
				lines, tt.want = lines[:1], tt.want[:1]
			}
			if len(lines) != len(tt.want) {
				t.Fatalf("%d faults, want %d:\n%v", len(lines), len(tt.want), err)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(lines[i], name+want) {
					t.Errorf("fault %d: %s\nwant: %s", i, strings.TrimPrefix(lines[i], name), want)
				}
			}
		})
	}
}

func TestLoad_FaultsOutsideTheFile(t *testing.T) {
	_, err := config.Load(config.Options{
		Env:   environ(t, "MOLAR_LIMITS_CALLS", "x", "MOLAR_LISTEN", "0.0.0.0"),
		Flags: map[string]string{"telemetry.log_level": "loud", "telemetry.log_levl": "x"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"MOLAR_LIMITS_CALLS: limits.calls: want a whole number",
		"MOLAR_LISTEN: listen: want host:port",
		"command line: telemetry.log_level: want debug",
		`command line: telemetry.log_levl: unknown key, did you mean "telemetry.log_level"?`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks: %s", err, want)
		}
	}
}

func TestLoad_AnchorsAndExpansion(t *testing.T) {
	cfg := mustLoad(t, `
limits: {rounds: "${ROUNDS}", body: 1024}
mcpServers:
  a: &a {command: x, args: ["$HOME", "$", "$${X}", "${E:-d}", "${V}"]}
  b: *a
`, "ROUNDS", "5", "E", "", "V", "${NOT}")
	if cfg.Limits.Rounds != 5 || cfg.Limits.Body != 1024 {
		t.Errorf("limits %+v", cfg.Limits)
	}
	b, _ := cfg.MCPServers.Get("b")
	if got, want := strings.Join(b.Args, "|"), "$HOME|$|${X}|d|${NOT}"; got != want {
		t.Errorf("args %s, want %s", got, want)
	}
}
