package listen

import (
	"strings"
	"testing"

	"molar/internal/config"
	"molar/internal/host"
)

// What people paste becomes text for the config file, without its secrets; what is neither
// servers nor an address is refused in words.
func TestImportServers(t *testing.T) {
	p := &port{Host: &host.Host{Config: &config.Config{File: "/etc/molar/molar.yaml"}}}
	found, err := p.importServers(`{"mcpServers": {"notes": {"command": "npx", "args": ["-y", "notes"], "env": {"NOTES_TOKEN": "sk-very-secret-123456"}}}}`)
	if err != nil || strings.Contains(found.YAML, "very-secret") || len(found.Variables) != 1 || found.File != "/etc/molar/molar.yaml" {
		t.Errorf("%+v, %v", found, err)
	}
	found, err = p.importServers(" https://mcp.example.com/v1 ")
	if err != nil || len(found.Servers) != 1 || !strings.Contains(found.YAML, `url: "https://mcp.example.com/v1"`) {
		t.Errorf("%+v, %v", found, err)
	}
	for _, bad := range []string{"", "hello", `{"a": 1}`, "ftp://example.com"} {
		if _, err := p.importServers(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
