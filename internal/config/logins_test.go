package config_test

import (
	"strings"
	"testing"
)

func TestLoad_AsPerson(t *testing.T) {
	key := strings.Repeat("ab", 32)
	keys := "logins: {keys: [\"${LOGIN_KEY:-" + key + "}\"]}\n"
	for _, tt := range []struct {
		name, text string
		fault      string // "" for none
	}{
		{"with a key", keys + `mcpServers: {x: {url: "https://x.example/mcp", as: person, headers: {X-User: "${person.id} ${person.name} ${person.groups}"}}}`, ""},
		{"its own credentials need no key", `mcpServers: {x: {url: "https://x.example/mcp", as: person, headers: {Authorization: "Bearer a", X-User: "${person.id}"}}}`, ""},
		{"without a key", `mcpServers: {x: {url: "https://x.example/mcp", as: person}}`, "openssl rand -base64 32"},
		{"a short key", "logins: {keys: [\"${SHORT:-abc}\"]}", "want 32 bytes"},
		{"a key in the file", "logins: {keys: [\"" + key + "\"]}", "keys do not belong in this file"},
		{"a command", keys + `mcpServers: {x: {command: x, as: person}}`, "applies only with url"},
		{"sse", keys + `mcpServers: {x: {url: "https://x.example", type: sse, as: person}}`, "applies only with url"},
		{"a header of the host", `mcpServers: {x: {url: "https://x.example", headers: {X-User: "${person.id}"}}}`, "only with as: person"},
		{"an address", keys + `mcpServers: {x: {url: "https://x.example/${person.id}", as: person}}`, "requires the name of an environment variable"},
		{"an unknown value", keys + `mcpServers: {x: {url: "https://x.example", as: person, headers: {X-User: "${person.mail}"}}}`, "requires the name of an environment variable"},
		{"an unknown kind", `mcpServers: {x: {url: "https://x.example", as: people}}`, "want"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := load(t, tt.text)
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Fatalf("error %v, want one with %q", err, tt.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if x, _ := cfg.MCPServers.Get("x"); !strings.Contains(x.Headers["X-User"].Reveal(), "${person.id}") {
				t.Errorf("the header is %q", x.Headers["X-User"].Reveal())
			}
		})
	}
}

// The keys can come from the environment, like every list.
func TestLoad_LoginKeysFromEnvironment(t *testing.T) {
	key := strings.Repeat("ab", 32)
	cfg := mustLoad(t, "", "MOLAR_LOGINS_KEYS", key+", "+key)
	if len(cfg.Logins.Keys) != 2 || cfg.Logins.Keys[1].Reveal() != key {
		t.Errorf("%d keys", len(cfg.Logins.Keys))
	}
}
